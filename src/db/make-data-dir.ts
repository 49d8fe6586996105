import { messageOf } from '../core/errors.ts';
import { makeFolder } from '../core/files/make-folder.ts';

const REASONS: Readonly<Record<string, string>> = {
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EROFS: 'the file system is read-only',
  ENOTDIR: 'a file is in its place',
  EEXIST: 'a file is in its place',
  ENOENT: 'nothing can be made there',
  ELOOP: 'its links lead in a circle',
  ENOSPC: 'the disk is full',
};

/** Makes the data directory, for its owner alone, unless it is there. Throws an error to print, which says what to do. */
export async function makeDataDir(path: string): Promise<void> {
  try {
    await makeFolder(path, 0o700);
  } catch (cause) {
    const reason = REASONS[(cause as NodeJS.ErrnoException).code ?? ''] ?? messageOf(cause);
    const advice = 'start Podyard in a folder that you may write to, or name another one with --data-dir';
    throw new Error(`The data directory ${path} cannot be made: ${reason}. To go on, ${advice}.`, { cause });
  }
}
