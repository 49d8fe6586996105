import type { Command } from 'commander';
import { UsageError } from '../../core/usage-error.ts';

/** Adds the name of what a command creates: an argument, or `--name`. The same for every `create`. */
export function addName(command: Command, other = 'the same as the argument'): Command {
  return command.usage('<name> [options]').argument('[name]', 'its name').option('--name <text>', other);
}

/** Returns the name that was given. Throws a `UsageError` if there is none, or if there are two. */
export function requireName(argument: string | undefined, option: string | undefined, command: string): string {
  const name = findName(argument, option);
  if (name !== undefined) return name;
  throw new UsageError(`the name is missing: put it first, as in \`podyard ${command} my-name …\``);
}

/** Returns the name that was given, if any. Throws a `UsageError` if there are two. */
export function findName(argument: string | undefined, option: string | undefined): string | undefined {
  if (argument === undefined || option === undefined || argument === option) return argument ?? option;
  throw new UsageError(`the name is both '${argument}' and, by --name, '${option}': give one`);
}
