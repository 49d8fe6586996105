import { statfs } from 'node:fs/promises';

export interface DiskSpace {
  totalBytes: number;
  /** Bytes that programs without special rights may still write. */
  freeBytes: number;
}

/** Reads the space of the disk with this path. Rejects if nothing is there. */
export async function readDisk(path: string): Promise<DiskSpace> {
  const { bsize, blocks, bavail } = await statfs(path);
  return { totalBytes: blocks * bsize, freeBytes: bavail * bsize };
}
