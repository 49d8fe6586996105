import { parseArgs } from '../../runtimes/workload-spec.ts';
import { Type } from './type.ts';

/** An image's entrypoint and command in lists, as some clients write `args`: an empty list keeps the image's. */
export interface Command {
  entrypoint: string[];
  cmd: string[];
}

/** The two as members of a create. */
export const COMMAND = {
  entrypoint: Type.Optional(
    Type.Array(Type.String(), {
      description: 'Replaces the ENTRYPOINT of the image; empty: keeps it. Not with `args`.',
    }),
  ),
  cmd: Type.Optional(
    Type.Array(Type.String(), { description: 'Replaces the CMD of the image; empty: keeps it. Not with `args`.' }),
  ),
};

/** Splits the `args` of a container. Text that cannot be split is shown as one word. */
export function toCommand(args: string): Command {
  try {
    const { entrypoint, cmd } = parseArgs(args);
    return { entrypoint: entrypoint ?? [], cmd: cmd ?? [] };
  } catch {
    return { entrypoint: [], cmd: [args] };
  }
}

/** Returns the `args` for the given lists over those of `before`; undefined if none is given. */
export function toArgs(given: { [name in keyof Command]?: string[] | undefined }, before = ''): string | undefined {
  if (given.entrypoint === undefined && given.cmd === undefined) return undefined;
  const { entrypoint, cmd } = { ...toCommand(before), ...withoutUndefined(given) };
  if (entrypoint.length === 0 && cmd.length === 0) return '';
  return JSON.stringify({ ...(entrypoint.length > 0 && { entrypoint }), ...(cmd.length > 0 && { cmd }) });
}

function withoutUndefined(given: object): Partial<Command> {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}
