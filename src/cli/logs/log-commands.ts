import { type Command, Option } from 'commander';
import type { CliPieces } from '../shared/cli-pieces.ts';
import { addLogOptions, onEndpoint } from '../shared/command-shape.ts';
import type { LogOptions } from './show-log.ts';

export function addLogs(program: Command, pieces: CliPieces): void {
  const command = onEndpoint<LogOptions & { worker?: string; all?: boolean }>(
    program.command('logs'),
    pieces,
    async (client, endpointId, options) => {
      const { findLoggedWorker, isSearch, showLog } = await import('./show-log.ts');
      if (options.job !== undefined) {
        const { findJobLog } = await import('./log-of-job.ts');
        const found = await findJobLog(client, endpointId, options.job, pieces);
        if (found === null) return;
        const { workerId, ...filter } = found;
        if (options.follow) delete filter.until;
        return await showLog(client, { endpointId, workerId }, { ...filter, ...options }, pieces);
      }
      const isAll = options.all === true || (options.worker === undefined && isSearch(options));
      const workerId = isAll ? undefined : (options.worker ?? (await findLoggedWorker(client, endpointId, pieces)));
      await showLog(client, { endpointId, workerId }, options, pieces);
    },
  );
  addLogOptions(command)
    .description('show the log of a worker (default: the newest; without a running one, the last that ended)')
    .option('--all', 'the lines of all workers together, ended ones too')
    .option('--worker <id>', 'worker whose log to show')
    .addOption(
      new Option(
        '--job <id>',
        "a job's lines: those of its worker while it ran, without those that name another job",
      ).conflicts(['all', 'worker']),
    );
}
