import { realpath } from 'node:fs/promises';
import { sep } from 'node:path';
import { messageOf } from '../core/errors.ts';
import { fileReason } from '../core/files/file-reason.ts';
import { findFullDisk } from './full-disk.ts';
import { sqlState } from './sql-state.ts';

const DISK_FULL = '53100';

/**
 * Returns the error to print for a start or a command that failed: one that names the disk if it is full, or the file of the
 * data directory that could not be used. `databaseUrl`: null for the embedded server.
 */
export async function explainDataFault(
  error: unknown,
  { databaseUrl, dataDir }: { databaseUrl: string | null; dataDir: string },
): Promise<unknown> {
  const isElsewhere = databaseUrl !== null;
  const found = isElsewhere ? null : await findFullDisk(dataDir);
  if (found !== null || isDiskFull(error)) {
    const sentence = isElsewhere ? "the database's disk is full" : `the disk of ${dataDir} is full`;
    return new Error(`${sentence}: free some space and try again (${messageOf(error)})`, { cause: error });
  }
  const { path } = (error ?? {}) as NodeJS.ErrnoException;
  if (typeof path !== 'string') return error;
  const folders = [dataDir, await realpath(dataDir).catch(() => dataDir)];
  if (!folders.some((folder) => path.startsWith(folder + sep))) return error;
  const advice = 'Mend that, or name another data directory with --data-dir.';
  return new Error(`${path} cannot be used: ${fileReason(error)}. ${advice}`, { cause: error });
}

/** A failed transaction has given its space back by the time anybody looks, so the error counts as well. */
function isDiskFull(error: unknown): boolean {
  const { code } = (error ?? {}) as { code?: unknown };
  return code === 'ENOSPC' || sqlState(error) === DISK_FULL || messageOf(error).includes('No space left on device');
}
