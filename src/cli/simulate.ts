import type { Context } from '../domain/context.ts';
import { type SimulateRequest, simulate } from '../domain/simulation/simulate.ts';
import { getSimulation, type Simulation } from '../domain/simulation/simulation.ts';
import type { CliOutput } from './cli-pieces.ts';
import { type Column, formatTable } from './table.ts';

/** Changes the simulation of the server on this database, effective at once, and prints it. */
export async function simulateShortage(context: Context, request: SimulateRequest, output: CliOutput): Promise<void> {
  show(await simulate(context, request), output);
}

const COLUMNS: readonly Column<Simulation['gpus'][number]>[] = [
  ['POOL', ({ pool }) => pool],
  ['DATA CENTER', ({ dataCenterId }) => dataCenterId],
  ['GPUS', ({ total }) => total],
];

export async function showSimulation(context: Context, output: CliOutput): Promise<void> {
  show(await getSimulation(context.pool), output);
}

function show({ gpus, slowPull }: Simulation, output: CliOutput): void {
  output.print(formatTable(COLUMNS, gpus));
  if (slowPull) output.note(`Pulls of ${slowPull.image ?? 'every image'} take ${slowPull.seconds} s.`);
}
