import type { Context } from '../domain/context.ts';
import { type SimulateRequest, simulate } from '../domain/simulation/simulate.ts';
import { getSimulation, type Simulation } from '../domain/simulation/simulation.ts';
import type { CliOutput } from './cli-pieces.ts';
import { formatTable } from './table.ts';

/** Changes what the server that uses this database pretends; it hears of it at once. Prints what that is now. */
export async function simulateShortage(context: Context, request: SimulateRequest, output: CliOutput): Promise<void> {
  show(await simulate(context, request), output);
}

export async function showSimulation(context: Context, output: CliOutput): Promise<void> {
  show(await getSimulation(context.pool), output);
}

function show({ gpus, slowPull }: Simulation, output: CliOutput): void {
  const rows = gpus.map(({ pool, dataCenterId, total }) => [pool, dataCenterId, String(total)]);
  output.print(formatTable(['POOL', 'DATA CENTER', 'GPUS'], rows));
  if (slowPull) output.note(`Pulls of ${slowPull.image ?? 'every image'} take ${slowPull.seconds} s.`);
}
