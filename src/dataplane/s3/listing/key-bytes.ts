import { isUtf8 } from 'node:buffer';

/** Text with a character for each byte, of UTF-8; and back. JavaScript compares such texts as S3 does. */
export const toBytes = (text: string): string => Buffer.from(text, 'utf8').toString('latin1');
export const fromBytes = (text: string): string => Buffer.from(text, 'latin1').toString('utf8');

/** Asks for names with a character for each byte. The types of node know only text encodings that it was made for; the system's call takes any. */
export const LATIN1 = 'latin1' as BufferEncoding;

/** True for the bytes of a text: no other name can be a key. */
export function isText(bytes: string): boolean {
  return !/[\x80-\xff]/.test(bytes) || isUtf8(Buffer.from(bytes, 'latin1'));
}

export function byBytes(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
