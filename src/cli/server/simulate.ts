import { change } from '../../domain/change.ts';
import type { Context } from '../../domain/context.ts';
import { type SimulateRequest, simulate } from '../../domain/simulation/simulate.ts';
import { getSimulation, type Simulation } from '../../domain/simulation/simulation.ts';
import type { CliOutput } from '../shared/cli-pieces.ts';
import { type Column, formatTable } from '../terminal/table.ts';
import { jsonText } from '../terminal/terminal-text.ts';
import { findIdInDatabase } from './find-in-database.ts';

interface JsonOption {
  json?: boolean | undefined;
}

/** Changes the simulation of the server on this database, effective at once, and prints it. An endpoint may be named. */
export async function simulateShortage(
  context: Context,
  request: SimulateRequest,
  options: JsonOption,
  output: CliOutput,
): Promise<void> {
  const { endpointId: named } = request;
  const endpointId =
    named === undefined ? {} : { endpointId: await findIdInDatabase(context.pool, 'endpoints', named) };
  show(await change(context, null, simulate, { ...request, ...endpointId }), options, output);
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
  if (json) return void output.print(jsonText(simulation));
  if (gpus.length > 0) output.print(formatTable(COLUMNS, gpus, output.screen));
  else output.note('No GPUs are simulated: start the server with --simulate-gpus, such as ADA_24:4.');
  if (slowPull) output.note(`Pulls of ${slowPull.image ?? 'every image'} take ${slowPull.seconds} s.`);
}
