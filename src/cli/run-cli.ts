import { messageOf } from '../core/errors.ts';
import { UsageError } from '../core/usage-error.ts';
import { readServeFlags } from './server/serve-flags.ts';
import type { CliPieces } from './shared/cli-pieces.ts';
import { ExitStatus } from './terminal/terminal.ts';

/**
 * Runs one command line. Resolves with the exit status: 0; 1 for a failure; 2 for a command line that is not understood;
 * 130 for Ctrl-C; the status of a program that `podyard exec` ran; or what `exitStatusOf` returns for a server's refusal. Every failure is explained on stderr.
 */
export async function runCli(pieces: CliPieces, args: readonly string[]): Promise<number> {
  try {
    const flags = readServeFlags(args);
    if (flags === null) return await (await import('./program.ts')).parse(pieces, args);
    await pieces.serve(flags);
    return 0;
  } catch (error) {
    if (error instanceof ExitStatus) return error.status;
    pieces.terminal.progress('');
    if (pieces.terminal.interrupted.aborted) return 130; // as shells report Ctrl-C
    pieces.note(`podyard: ${messageOf(error)}`);
    if (error instanceof UsageError) return 2;
    return (await import('./shared/api-client.ts')).exitStatusOf(error);
  }
}
