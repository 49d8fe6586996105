/** A part of a content: from `start` to before `end`. */
export interface ByteRange {
  start: number;
  end: number;
}

/**
 * Reads the header `Range` of a request for a content of `size` bytes. Returns null for all of it: without a range, for several, and for what
 * is none. Returns `behind` for a range that has no byte of it.
 */
export function parseRange(header: string | undefined, size: number): ByteRange | 'behind' | null {
  const [, first, last] = /^bytes=(\d{0,16})-(\d{0,16})$/.exec(header?.trim() ?? '') ?? [];
  if (first === undefined || last === undefined || first + last === '') return null;
  if (first === '')
    return Number(last) === 0 || size === 0 ? 'behind' : { start: Math.max(0, size - Number(last)), end: size };
  const start = Number(first);
  const end = last === '' ? size : Number(last) + 1;
  if (last !== '' && end <= start) return null;
  return start >= size ? 'behind' : { start, end: Math.min(end, size) };
}
