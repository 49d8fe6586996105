import { access, constants } from 'node:fs/promises';
import { fileReason } from '../core/files/file-reason.ts';
import { makeFolder } from '../core/files/make-folder.ts';

/**
 * Makes the data directory, for its owner alone, unless it is there. Throws an error to print, which says what to do, also if
 * nothing can be written to it.
 */
export async function makeDataDir(path: string): Promise<void> {
  const doing = (what: string) => (cause: NodeJS.ErrnoException) => {
    const reason = cause.code === 'ENOENT' ? 'nothing can be made there' : fileReason(cause);
    const advice = 'start Podyard in a folder that you may write to, or name another one with --data-dir';
    throw new Error(`The data directory ${path} cannot be ${what}: ${reason}. To go on, ${advice}.`, { cause });
  };
  await makeFolder(path, 0o700).catch(doing('made'));
  await access(path, constants.W_OK | constants.X_OK).catch(doing('written'));
}
