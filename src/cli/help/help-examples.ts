import type { Command } from 'commander';
import { CLIENT_EXAMPLES } from './client-examples.ts';
import { OPERATOR_EXAMPLES } from './operator-examples.ts';

/** Examples of every command, by its path without `podyard`. */
export const EXAMPLES: Readonly<Record<string, readonly string[]>> = { ...OPERATOR_EXAMPLES, ...CLIENT_EXAMPLES };

/** Ends the help of a command, and of those below it, with their examples. */
export function addExamples(command: Command, path: readonly string[] = []): void {
  const examples = EXAMPLES[path.join(' ')];
  if (examples) command.addHelpText('after', `\nExamples:\n${examples.map((line) => `  ${line}`).join('\n')}`);
  for (const child of command.commands) addExamples(child, [...path, child.name()]);
}
