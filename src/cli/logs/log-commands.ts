import type { Command } from 'commander';
import type { CliPieces } from '../shared/cli-pieces.ts';
import { addLogOptions, onEndpoint } from '../shared/command-shape.ts';
import type { LogOptions } from './show-log.ts';

export function addLogs(program: Command, pieces: CliPieces): void {
  const command = onEndpoint<LogOptions & { worker?: string; all?: boolean }>(
    program.command('logs'),
    pieces,
    async (client, endpointId, options) => {
      const { findLoggedWorker, isSearch, showLog } = await import('./show-log.ts');
      const isAll = options.all === true || (options.worker === undefined && isSearch(options));
      const workerId = isAll ? undefined : (options.worker ?? (await findLoggedWorker(client, endpointId, pieces)));
      await showLog(client, { endpointId, workerId }, options, pieces);
    },
  );
  addLogOptions(command)
    .description('show the log of a worker (default: the newest; without a running one, the last that ended)')
    .option('--all', 'the lines of all workers together, ended ones too')
    .option('--worker <id>', 'worker whose log to show');
}
