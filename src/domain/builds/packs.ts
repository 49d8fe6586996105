/** Small files that are sent, and read, together: a folder has many, and a request or query for each would take longest. */
export const PACK_LIMITS = { bytes: 4 * 2 ** 20, files: 1_000, fileBytes: 256 * 2 ** 10 };

/** Puts small files together; a large one is alone. */
export function inPacks<T extends { size: number }>(files: readonly T[]): T[][] {
  const packs: T[][] = [];
  let last: T[] = [];
  let bytes = 0;
  for (const file of files) {
    if (file.size > PACK_LIMITS.fileBytes) {
      packs.push([file]);
      continue;
    }
    if (last.length === 0 || last.length === PACK_LIMITS.files || bytes + file.size > PACK_LIMITS.bytes) {
      last = [];
      bytes = 0;
      packs.push(last);
    }
    last.push(file);
    bytes += file.size;
  }
  return packs;
}
