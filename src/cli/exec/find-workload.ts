import { UsageError } from '../../core/usage-error.ts';
import { findRecord, idOf } from '../records/find-record.ts';
import { RECORDS } from '../records/kinds.ts';
import { type ApiClient, ApiRefusal } from '../shared/api-client.ts';
import type { SessionPlace } from './remote-session.ts';

/** Endpoints whose workers are asked for at once. */
const CONCURRENT = 8;

/** The options that name a workload: a pod by id or name, or a worker by id; or an endpoint, with a worker or any. */
export interface WorkloadNames {
  name?: string | undefined;
  endpoint?: string | undefined;
  worker?: string | undefined;
}

/** Finds where a program is to run. A key that may only run programs needs ids. */
export async function findWorkload(
  client: ApiClient,
  { name, endpoint, worker }: WorkloadNames,
): Promise<SessionPlace> {
  if (endpoint !== undefined) {
    const endpointId = await idOf(client, RECORDS.endpoints, endpoint);
    return { endpointId, ...(worker !== undefined && { workerId: worker }) };
  }
  if (worker !== undefined) throw new UsageError('--worker needs --endpoint; without it, name the worker alone');
  if (name === undefined) throw new UsageError('name a pod or a worker, or an endpoint with --endpoint');
  try {
    return { podId: await idOf(client, RECORDS.pods, name) };
  } catch (error) {
    if (!(error instanceof ApiRefusal) || error.status !== 404) throw error;
    const found = await findWorker(client, name);
    if (found) return found;
    const isEndpoint = await findRecord(client, RECORDS.endpoints, name).catch(() => undefined);
    if (isEndpoint) throw new UsageError(`'${name}' is an endpoint: name it with --endpoint ${name}`);
    throw error;
  }
}

async function findWorker(client: ApiClient, workerId: string): Promise<SessionPlace | undefined> {
  const endpoints = await RECORDS.endpoints.list(client);
  for (let at = 0; at < endpoints.length; at += CONCURRENT) {
    const places = endpoints.slice(at, at + CONCURRENT).map(async ({ id }) => {
      const { workers } = await client.call('get', '/v2/serverless/{id}/workers', { path: { id } });
      return workers.some((worker) => worker.id === workerId) ? { endpointId: id, workerId } : undefined;
    });
    const found = (await Promise.all(places)).find((place) => place !== undefined);
    if (found) return found;
  }
  return undefined;
}
