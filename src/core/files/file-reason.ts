import { messageOf } from '../errors.ts';

const REASONS: Readonly<Record<string, string>> = {
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EROFS: 'the file system is read-only',
  EISDIR: 'a folder is in its place',
  ENOTDIR: 'a file is in its place',
  EEXIST: 'a file is in its place',
  ENOENT: 'it does not exist',
  ELOOP: 'its links lead in a circle',
  ENOSPC: 'the disk is full',
};

/** Returns why a file or folder could not be used, in words; the system's own words for what is rare. */
export function fileReason(error: unknown): string {
  return REASONS[String((error as NodeJS.ErrnoException).code)] ?? messageOf(error);
}
