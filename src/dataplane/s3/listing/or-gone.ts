import { codeOf } from '../../../runtimes/directories/folder.ts';

/** Gone, replaced, or not to be read: nothing to list there. Whatever else fails must fail the listing: who mirrors it would delete the rest. */
export function orGone(error: unknown): null {
  if (['ENOENT', 'ENOTDIR', 'ELOOP', 'EACCES', 'ENAMETOOLONG'].includes(codeOf(error) ?? '')) return null;
  throw error;
}
