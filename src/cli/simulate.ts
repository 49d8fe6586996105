import type { Context } from '../domain/context.ts';
import { type SimulateRequest, simulate } from '../domain/simulation/simulate.ts';
import { getSimulation, type Simulation } from '../domain/simulation/simulation.ts';
import type { CliOutput } from './cli-pieces.ts';
import { type Column, formatTable } from './table.ts';
import { jsonText } from './terminal-text.ts';

interface JsonOption {
  json?: boolean | undefined;
}

/** Changes the simulation of the server on this database, effective at once, and prints it. */
export async function simulateShortage(
  context: Context,
  request: SimulateRequest,
  options: JsonOption,
  output: CliOutput,
): Promise<void> {
  show(await simulate(context, request), options, output);
}

const COLUMNS: readonly Column<Simulation['gpus'][number]>[] = [
  ['POOL', ({ pool }) => pool],
  ['DATA CENTER', ({ dataCenterId }) => dataCenterId],
  ['GPUS', ({ total }) => total],
];

export async function showSimulation(context: Context, options: JsonOption, output: CliOutput): Promise<void> {
  show(await getSimulation(context.pool), options, output);
}

function show(simulation: Simulation, { json }: JsonOption, output: CliOutput): void {
  const { gpus, slowPull } = simulation;
  output.print(json ? jsonText(simulation) : formatTable(COLUMNS, gpus, output.screen));
  if (slowPull && !json) output.note(`Pulls of ${slowPull.image ?? 'every image'} take ${slowPull.seconds} s.`);
}
