import type { AnswerHead, BodyLength, RawHeaders, Transport } from './client-exchange.ts';

/** Up to this size bytes are joined to the text before them: one write instead of two, and no buffer. */
export const JOIN_BYTES = 8192;

/** A piece of a body: the bytes from `start` to `end`. */
interface BodyPiece {
  readonly bytes: Buffer;
  readonly start: number;
  readonly end: number;
}

/**
 * Writes `text` and then a piece of a body, as a chunk when the body is chunked. A small piece is only appended to the
 * text. Returns the text to write before the next piece.
 */
export function writeBody(transport: Transport, text: string, piece: BodyPiece, isChunked: boolean): string {
  const { bytes, start, end } = piece;
  const before = isChunked ? `${text}${(end - start).toString(16)}\r\n` : text;
  const after = isChunked ? '\r\n' : '';
  if (before.length + end - start <= JOIN_BYTES) return before + bytes.toString('latin1', start, end) + after;
  if (before !== '') transport.writeText(before);
  transport.writeBytes(bytes.subarray(start, end));
  return after;
}

export function lastChunk(trailers: RawHeaders): string {
  return trailers.length === 0 ? '0\r\n\r\n' : `0\r\n${headerLines(trailers)}\r\n`;
}

/** Returns a response's head for a client of HTTP/1.1, the empty line included. Cached in the head. */
export function answerText(head: AnswerHead): string {
  head.text ??= flatText(`${answerLines(head, true)}\r\n`);
  return head.text;
}

/** Returns the lines of a response's head, without `Connection` and the empty line. */
export function answerLines({ status, reason, headers, length }: AnswerHead, mayChunk: boolean): string {
  return `HTTP/1.1 ${status} ${reason}\r\n${headerLines(headers)}${framingLine(length, mayChunk)}`;
}

export function framingLine(length: BodyLength | null, mayChunk: boolean): string {
  if (typeof length === 'number') return `Content-Length: ${length}\r\n`;
  return length === null || !mayChunk ? '' : 'Transfer-Encoding: chunked\r\n';
}

export function headerLines(headers: RawHeaders): string {
  let text = '';
  for (let i = 0; i < headers.length; i += 2) text += `${headers[i]}: ${headers[i + 1]}\r\n`;
  return text;
}

/**
 * Returns the text (latin1) as one piece. V8 keeps joined text as a tree of its parts, and walks it each time it is
 * written: for text that is written often.
 */
export function flatText(text: string): string {
  return Buffer.from(text, 'latin1').toString('latin1');
}
