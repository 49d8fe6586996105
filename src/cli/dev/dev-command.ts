import type { Command } from 'commander';
import type { CliPieces } from '../shared/cli-pieces.ts';
import { wholeNumber } from '../shared/options.ts';
import type { DevOptions } from './dev-options.ts';

/** Adds `dev`, which serves a folder on this machine while it is being written. */
export function addDev(program: Command, pieces: CliPieces): void {
  program
    .command('dev')
    .description('serve the handler in a folder on this machine, and run the new code whenever you save')
    .argument('[dir]', 'the folder', '.')
    .option('--port <number>', 'the port of its server', wholeNumber, 8090)
    .option('--env-file <file>', 'variables and secrets of the handler (default: .env in the folder, if there is one)')
    .option('--name <name>', 'the endpoint, if podyard.yaml has several')
    .action(async (folder: string, options: DevOptions) => {
      const { serveFolder } = await import('./serve-folder.ts');
      await serveFolder(folder, options, pieces);
    });
}
