import { UsageError } from '../../core/usage-error.ts';
import type { ApiClient } from '../shared/api-client.ts';
import type { Schemas } from '../shared/api-types.ts';
import type { CliOutput } from '../shared/cli-pieces.ts';
import { showRecord } from '../shared/show-records.ts';

/** Prints one worker of an endpoint, also a frozen or ended one: why it exists, its start, and what it uses now. */
export async function showWorker(
  client: ApiClient,
  { id, workerId }: { id: string; workerId: string },
  { ended, json }: { ended?: boolean; json?: boolean },
  output: CliOutput,
): Promise<void> {
  if (ended) throw new UsageError('--ended lists all that ended: name no worker');
  const path = { id, workerId };
  const query = { include: 'USAGE' };
  const worker = await client.call('get', '/v2/serverless/{id}/workers/{workerId}', { path, query });
  showRecord(json ? worker : inWords(worker), json, output);
}

/** Returns the worker with a line for each stage of its start, and for each thing that it uses. */
function inWords({ timeline, usage, ...worker }: Schemas['WorkerDetail']): object {
  const start = timeline.map(({ stage, ms }) => [stage, ms === null ? 'in progress' : `${ms / 1000} s`]);
  return { ...worker, start: Object.fromEntries(start), usage: usage ? usageInWords(usage) : null };
}

function usageInWords({ cpu, memory, gpus }: NonNullable<Schemas['WorkerDetail']['usage']>): object {
  const percent = (value: number) => `${value} %`;
  const ofGpus = gpus.flatMap(({ util, memoryUtil }, n) => [
    [`GPU ${n}`, percent(util)],
    [`memory of GPU ${n}`, percent(memoryUtil)],
  ]);
  return { cpu: percent(cpu.util), memory: percent(memory.util), ...Object.fromEntries(ofGpus) };
}
