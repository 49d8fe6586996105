import { readDisk } from '../core/files/read-disk.ts';

/** With less, PostgreSQL may be unable to write its next log segments, and stops. */
const MIN_FREE_MIB = 64;
/** Free space that uploads leave: while one is stored, the database's log grows as well. */
const UPLOADS_LEAVE_MIB = 128;

/** Returns a public sentence if the disk of a data directory is full or almost full; null otherwise, or if it is unknown. */
export async function findFullDisk(dataDir: string): Promise<string | null> {
  const free = await freeMib(dataDir);
  if (free >= MIN_FREE_MIB) return null;
  return `The disk of the data directory is full: ${free} MiB are free, and the database needs ${MIN_FREE_MIB}.`;
}

/** Returns a public sentence if a data directory has no room for uploads; null otherwise, or if it is unknown. */
export async function findScarceDisk(dataDir: string): Promise<string | null> {
  const free = await freeMib(dataDir);
  if (free >= UPLOADS_LEAVE_MIB) return null;
  return `The disk of the data directory is almost full: ${free} MiB are free, and uploads leave ${UPLOADS_LEAVE_MIB}.`;
}

async function freeMib(folder: string): Promise<number> {
  const disk = await readDisk(folder).catch(() => null);
  return disk === null ? Number.POSITIVE_INFINITY : Math.floor(disk.freeBytes / 2 ** 20);
}
