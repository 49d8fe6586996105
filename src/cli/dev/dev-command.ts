import type { Command } from 'commander';
import { UsageError } from '../../core/usage-error.ts';
import type { CliPieces } from '../shared/cli-pieces.ts';
import { connect } from '../shared/command-shape.ts';
import { wholeNumber } from '../shared/options.ts';
import type { DevOptions } from './dev-options.ts';

const DEFAULT_PORT = 8090;
/** Options that make sense in one place only. */
const LOCAL = { port: '--port', envFile: '--env-file' } as const;
const REMOTE = { endpoint: '--endpoint', pool: '--pool', context: '--context' } as const;

/** Adds `dev`, which serves a folder while it is being written: on this machine, or by a worker of a server. */
export function addDev(program: Command, pieces: CliPieces): void {
  program
    .command('dev')
    .description('serve the handler in a folder while you write it, and run the new code whenever you save')
    .argument('[dir]', 'the folder', '.')
    .option('--port <number>', `the port of its server on this machine (default: ${DEFAULT_PORT})`, wholeNumber)
    .option('--env-file <file>', 'variables and secrets of the handler (default: .env in the folder, if there is one)')
    .option('--name <name>', 'the endpoint, if podyard.yaml has several')
    .option('--remote', 'serve it by a worker of the current server, which gets the files as they change')
    .option('--endpoint <name>', 'with --remote: name of the endpoint that is made for it (default: <name>-dev)')
    .option('--pool <name...>', 'with --remote: GPU pools, preferred first, instead of what podyard.yaml says')
    .option('--context <name>', 'with --remote: server to use, as listed by `podyard contexts`')
    .action(async (folder: string, options: Partial<DevOptions>) => {
      refuseOptionsOf(options.remote ? LOCAL : REMOTE, options);
      const whole = { ...options, port: options.port ?? DEFAULT_PORT };
      if (options.remote) {
        const { serveRemote } = await import('./remote/serve-remote.ts');
        return serveRemote(await connect(pieces, options), folder, whole, pieces);
      }
      const { serveFolder } = await import('./serve-folder.ts');
      return serveFolder(folder, whole, pieces);
    });
}

function refuseOptionsOf(flags: Partial<Record<keyof DevOptions, string>>, options: Partial<DevOptions>): void {
  const [given] = Object.entries(flags).filter(([name]) => options[name as keyof DevOptions] !== undefined);
  if (given) throw new UsageError(`${given[1]} is for \`podyard dev\` ${options.remote ? 'without' : 'with'} --remote`);
}
