import { stat } from 'node:fs/promises';
import { UsageError } from '../../core/usage-error.ts';

/** Throws for a target such as /dev/null: what is downloaded takes the place of a file once it is complete, and would remove that. */
export async function refuseSpecial(target: string): Promise<void> {
  const found = await stat(target).catch(() => null);
  if (found && !found.isFile()) throw new UsageError(`${target} is there, and is not a file: name another one`);
}
