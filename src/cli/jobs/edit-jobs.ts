import type { ApiClient } from '../shared/api-client.ts';
import type { CommandOutput } from '../shared/cli-pieces.ts';
import { type ConfirmOptions, confirmDeletion } from '../shared/confirm.ts';
import type { Wire } from '../shared/records.ts';
import { jsonText } from '../terminal/terminal-text.ts';

/** Cancels or retries a job, and prints its state. */
export async function actOnJob(
  client: ApiClient,
  { endpointId, id }: { endpointId: string; id: string },
  action: 'cancel' | 'retry',
  { json }: { json?: boolean },
  output: CommandOutput,
): Promise<void> {
  const job = await client.call<Wire>('POST', `/v2/${endpointId}/${action}/${id}`);
  output.print(json ? jsonText(job) : `${job.id}  ${job.status}`);
}

/** Cancels the queued jobs of an endpoint, after asking for its name, and says how many. */
export async function purgeQueue(
  client: ApiClient,
  endpoint: { id: string; name: string },
  options: ConfirmOptions & { json?: boolean },
  output: CommandOutput,
): Promise<void> {
  const { jobs } = await client.call<{ jobs: { inQueue: number } }>('GET', `/v2/${endpoint.id}/health`);
  const what = `the queue of ${endpoint.name} (${endpoint.id}), ${jobs.inQueue} jobs`;
  await confirmDeletion(output, { what, ...endpoint }, options);
  const purged = await client.call<{ removed: number }>('POST', `/v2/${endpoint.id}/purge-queue`);
  if (options.json) output.print(jsonText(purged));
  else output.note(`${purged.removed} queued jobs of ${endpoint.name} are cancelled.`);
}
