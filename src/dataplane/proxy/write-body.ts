import type { AnswerHead, RawHeaders, Wire } from './client-exchange.ts';

/** Up to here bytes are joined to the text before them: one write instead of two, and no buffer. */
const JOIN_BYTES = 8192;

/**
 * Writes a piece of a body after the text that is still to be written, in a frame of its own when the body is chunked.
 * A small piece is only joined to the text: answers what is to be written before the next.
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

/**
 * The beginning of an answer, without the lines that its connection adds. What begins like the latest one with the same
 * list of headers is the same text, which then lies in one piece.
 */
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
