import { statfs } from 'node:fs/promises';

export interface DiskSpace {
  totalBytes: number;
  /** Bytes that programs without special rights may still write. */
  freeBytes: number;
}

export interface Disk extends DiskSpace {
  /** Files and folders that can still be made; Infinity where the file system has no limit. */
  freeFiles: number;
}

/** Reads the space of the disk with this path. Rejects if nothing is there. */
export async function readDisk(path: string): Promise<Disk> {
  const { bsize, blocks, bavail, files, ffree } = await statfs(path);
  const freeFiles = files === 0 ? Number.POSITIVE_INFINITY : ffree;
  return { totalBytes: blocks * bsize, freeBytes: bavail * bsize, freeFiles };
}
