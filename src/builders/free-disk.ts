import { Failure } from '../core/errors.ts';
import { readDisk } from '../core/files/read-disk.ts';

/** Bytes that builds leave free on a disk by default. */
export const RESERVE_BYTES = 2 * 2 ** 30;

/** The disk on which images are made. */
export interface BuildDisk {
  /** A folder on it; null where it is not on this machine. */
  folder: string | null;
  /** As sentences name it. */
  name: string;
  reserveBytes: number;
}

/** Returns why no build may go on; null if there is room, or the disk cannot be read. */
export async function findDiskFault({ folder, name, reserveBytes }: BuildDisk): Promise<Failure | null> {
  const found = folder === null ? null : await readDisk(folder).catch(() => null);
  if (found === null || found.freeBytes >= reserveBytes) return null;
  const [has, keeps] = [found.freeBytes, reserveBytes].map((bytes) => `${Math.floor(bytes / 1e6)} MB`);
  return new Failure('unavailable', `${name} is almost full: ${has} are free, and builds leave ${keeps}.`);
}

/** True if words of a program say that a disk is full. */
export function saysDiskIsFull(words: string): boolean {
  return /no space left|disk quota exceeded/i.test(words);
}
