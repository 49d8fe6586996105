import type { Command } from 'commander';
import type { Flags } from '../../config/settings.ts';
import type { SimulateRequest } from '../../domain/simulation/simulate.ts';
import type { CliPieces } from '../shared/cli-pieces.ts';
import { onDatabase } from '../shared/command-shape.ts';
import { addDatabaseOptions, parseCount } from '../shared/options.ts';

type Run = (flags: Flags & { json?: boolean }, request: SimulateRequest) => Promise<void>;

function addOptions(command: Command): Command {
  return addDatabaseOptions(command).option('--json', 'print JSON, for programs');
}

/** Adds `simulate` with a command per kind of shortage. */
export function addSimulate(program: Command, pieces: CliPieces): void {
  const simulate = program
    .command('simulate')
    .description('simulate shortage on a server with simulated GPUs, to test how clients cope');
  const run: Run = async (flags, request) => {
    const { simulateShortage } = await import('./simulate.ts');
    await onDatabase(pieces, flags, (context) => simulateShortage(context, request, flags, pieces));
  };
  addOptions(simulate.command('show'))
    .description('show the current simulation')
    .action(async (flags: Flags & { json?: boolean }) => {
      const { showSimulation } = await import('./simulate.ts');
      await onDatabase(pieces, flags, (context) => showSimulation(context, flags, pieces));
    });
  addShortages(simulate, run);
  addIncidents(simulate, run);
  addOptions(simulate.command('reset'))
    .description("return to the server's start-up settings")
    .action((flags: Flags) => run(flags, { action: 'reset' }));
}

function addShortages(simulate: Command, run: Run): void {
  addOptions(simulate.command('capacity'))
    .description('set how many GPUs a pool has in a data center; running workers keep theirs')
    .argument('<place>', 'e.g. ADA_24 or ADA_24@EU-RO-1')
    .argument('<count>', 'GPUs from now on; 0: none', parseCount)
    .action(async (place: string, total: number, flags: Flags) => {
      const [pool = '', dataCenterId] = place.split('@');
      await run(flags, { action: 'capacity', pool, dataCenterId, total });
    });
  addOptions(simulate.command('slow-pull'))
    .description('delay every start by a slow image pull')
    .argument('<seconds>', 'how long a pull takes; 0: no delay', parseCount)
    .option('--image <name>', 'this image only')
    .action((seconds: number, flags: Flags & { image?: string }) =>
      run(flags, { action: 'slow-pull', seconds, image: flags.image }),
    );
}

function addIncidents(simulate: Command, run: Run): void {
  addOptions(simulate.command('crash'))
    .description("crash a worker, or an endpoint's next starts")
    .option('--worker <id>', 'this worker, now')
    .option('--endpoint <endpoint>', 'the next starts of this endpoint, by id or name')
    .option('--starts <number>', 'how many starts crash (default: 3)', parseCount)
    .option('--exit-code <number>', 'exit code of the worker (default: 1)', parseCount)
    .action((flags: Flags & { worker?: string; endpoint?: string; starts?: number; exitCode?: number }) => {
      const { worker: workerId, endpoint: endpointId, starts, exitCode } = flags;
      return run(flags, { action: 'crash', workerId, endpointId, starts, exitCode });
    });
  addOptions(simulate.command('preempt'))
    .description('preempt a worker')
    .argument('<worker>', 'its id')
    .option('--grace <seconds>', 'how long it may keep running (default: 5)', parseCount)
    .action((workerId: string, flags: Flags & { grace?: number }) =>
      run(flags, { action: 'preempt', workerId, graceSeconds: flags.grace }),
    );
}
