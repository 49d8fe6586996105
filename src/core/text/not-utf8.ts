import { UsageError } from '../usage-error.ts';

/** The error for a file that is not found by the name that its folder lists. */
export function notUtf8(path: string): UsageError {
  return new UsageError(`'${path}' has a name that is not UTF-8: rename it, or leave it out`);
}
