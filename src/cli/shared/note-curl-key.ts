import type { CommandOutput } from './cli-pieces.ts';

/** Says where a key for a printed call comes from: curl knows nothing of `podyard login`. */
export function noteCurlKey({ terminal, note }: CommandOutput): void {
  if (terminal.env.PODYARD_API_KEY) return;
  note('curl needs a key in the shell: export PODYARD_API_KEY=$(podyard keys create shell)');
}
