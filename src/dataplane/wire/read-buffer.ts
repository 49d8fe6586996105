const READ_BYTES = 262_144;
const MAX_VIEWS = 2048;

/** The buffer of every read: used or copied before the next one. Separate buffers would cost a quarter of the time. */
export const readBuffer = Buffer.allocUnsafeSlow(READ_BYTES);

/** The same in words, to compare its start with. */
export const readWords = new Uint32Array(readBuffer.buffer);

/** Views of its start, by length: most reads are short, and creating a view costs as much as finding the end of a head. */
const views: (Buffer | undefined)[] = new Array<Buffer | undefined>(MAX_VIEWS).fill(undefined);

/** Returns the first bytes of the buffer. */
export function viewOf(size: number): Buffer {
  if (size >= MAX_VIEWS) return readBuffer.subarray(0, size);
  views[size] ??= readBuffer.subarray(0, size);
  return views[size];
}

/** True for what `viewOf` returned, if it is short. */
export function isView(bytes: Buffer): boolean {
  return bytes.length < MAX_VIEWS && views[bytes.length] === bytes;
}
