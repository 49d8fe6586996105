import { parseArgs } from '../../runtimes/args.ts';

/** An image's entrypoint and command as version 1 has them: an empty list keeps the image's. */
export interface V1Command {
  dockerEntrypoint: string[];
  dockerStartCmd: string[];
}

/** Splits the `args` of a container. Text that cannot be split is shown as one word. */
export function toV1Command(args: string): V1Command {
  try {
    const { entrypoint, cmd } = parseArgs(args);
    return { dockerEntrypoint: entrypoint ?? [], dockerStartCmd: cmd ?? [] };
  } catch {
    return { dockerEntrypoint: [], dockerStartCmd: [args] };
  }
}

/** Returns the `args` for the given lists over those of `before`; undefined if none is given. */
export function toArgs(given: Partial<V1Command>, before = ''): string | undefined {
  const { dockerEntrypoint, dockerStartCmd } = given;
  if (dockerEntrypoint === undefined && dockerStartCmd === undefined) return undefined;
  const former = toV1Command(before);
  const entrypoint = dockerEntrypoint ?? former.dockerEntrypoint;
  const cmd = dockerStartCmd ?? former.dockerStartCmd;
  if (entrypoint.length === 0 && cmd.length === 0) return '';
  return JSON.stringify({ ...(entrypoint.length > 0 && { entrypoint }), ...(cmd.length > 0 && { cmd }) });
}
