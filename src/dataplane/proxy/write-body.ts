import type { AnswerHead, RawHeaders, Wire } from './client-exchange.ts';

/** Up to this size bytes are joined to the text before them: one write instead of two, and no buffer. */
const JOIN_BYTES = 8192;

/**
 * Writes `text` and then a piece of a body, as a chunk when the body is chunked. A small piece is only appended to the
 * text. Returns the text to write before the next piece.
 */
export function writeBody(wire: Wire, text: string, chunk: Buffer, isChunked: boolean): string {
  const before = isChunked ? `${text}${chunk.length.toString(16)}\r\n` : text;
  const after = isChunked ? '\r\n' : '';
  if (before.length + chunk.length <= JOIN_BYTES) return before + chunk.toString('latin1') + after;
  if (before !== '') wire.writeText(before);
  wire.writeBytes(chunk);
  return after;
}

export function lastChunk(trailers: RawHeaders): string {
  return trailers.length === 0 ? '0\r\n\r\n' : `0\r\n${headerLines(trailers)}\r\n`;
}

const written = new WeakMap<RawHeaders, { head: AnswerHead; text: string }>();

/** Returns the start of a response, without the lines that its connection adds. Cached by list of headers. */
export function answerStart(head: AnswerHead): string {
  const { status, reason, headers, length } = head;
  const known = written.get(headers);
  if (
    known !== undefined &&
    known.head.status === status &&
    known.head.reason === reason &&
    known.head.length === length
  )
    return known.text;
  let text = `HTTP/1.1 ${status} ${reason}\r\n${headerLines(headers)}`;
  if (typeof length === 'number') text += `Content-Length: ${length}\r\n`;
  written.set(headers, { head, text });
  return text;
}

export function headerLines(headers: RawHeaders): string {
  let text = '';
  for (let i = 0; i < headers.length; i += 2) text += `${headers[i]}: ${headers[i + 1]}\r\n`;
  return text;
}
