import type { Command } from 'commander';
import { UsageError } from '../../core/usage-error.ts';
import type { CommandOutput } from './cli-pieces.ts';

/** The option of every command that deletes something. */
export interface ConfirmOptions {
  yes?: boolean;
}

export function addConfirm(command: Command): Command {
  return command.option('--yes', 'delete without asking; needed where there is no terminal');
}

/** Throws a `UsageError` if nobody can be asked. Call it before any request, so that a script finds out at once. */
export function requireConfirmable({ terminal }: CommandOutput, { yes }: ConfirmOptions): void {
  if (yes || terminal.isInteractive) return;
  throw new UsageError('this deletes something, and there is no terminal to ask on: add --yes');
}

/** Asks for the name of what is about to be deleted, unless `--yes` was given. Throws if the answer is another one. */
export async function confirmDeletion(
  output: CommandOutput,
  { what, name, id }: { what: string; name: string; id?: string },
  options: ConfirmOptions,
): Promise<void> {
  requireConfirmable(output, options);
  if (options.yes) return;
  const answer = (await output.terminal.ask(`This deletes ${what}. Type ${name} to confirm: `)).trim();
  if (answer !== name && answer !== id) throw new Error(`'${answer}' is not ${name}: nothing is deleted`);
}
