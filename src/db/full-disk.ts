import { readDisk } from '../core/files/read-disk.ts';

/** With less, PostgreSQL may be unable to write its next log segments, and stops. */
const DATABASE_NEEDS = { mib: 64, files: 1_000 };
/** What uploads leave: while one is stored, the database's log grows as well. */
const UPLOADS_LEAVE = { mib: 128, files: 5_000 };

/** Returns a public sentence if the disk of a data directory is full or almost full; null otherwise, or if it is unknown. */
export async function findFullDisk(dataDir: string): Promise<string | null> {
  const found = await findLack(dataDir, DATABASE_NEEDS);
  return found && `The disk of the data directory is full: ${found.free}, and the database needs ${found.least}.`;
}

/** Returns a public sentence if a data directory has no room for uploads; null otherwise, or if it is unknown. */
export async function findScarceDisk(dataDir: string): Promise<string | null> {
  const found = await findLack(dataDir, UPLOADS_LEAVE);
  return found && `The disk of the data directory is almost full: ${found.free}, and uploads leave ${found.least}.`;
}

async function findLack(
  folder: string,
  least: { mib: number; files: number },
): Promise<{ free: string; least: number } | null> {
  const disk = await readDisk(folder).catch(() => null);
  if (disk === null) return null;
  const freeMib = Math.floor(disk.freeBytes / 2 ** 20);
  if (freeMib < least.mib) return { free: `${freeMib} MiB are free`, least: least.mib };
  if (disk.freeFiles < least.files) return { free: `${disk.freeFiles} more files can be made`, least: least.files };
  return null;
}
