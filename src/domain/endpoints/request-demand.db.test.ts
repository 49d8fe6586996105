import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { BalancedEndpoint } from '../../../test/balanced-endpoint.ts';
import { listControlledWorkers } from '../workers/worker-lifecycle.ts';
import { listLiveWorkerRows } from '../workers/worker-store.ts';
import { listActiveEndpoints, listEndpointDemand } from './endpoint-demand.ts';
import {
  deleteDeadRequestDemand,
  deleteRequestDemand,
  type RequestDemand,
  writeRequestDemand,
} from './request-demand.ts';

let endpoint: BalancedEndpoint;
beforeAll(async () => {
  endpoint = await BalancedEndpoint.create();
});
afterAll(() => endpoint.close());
beforeEach(async () => {
  await endpoint.sql('delete from request_demand');
  await endpoint.sql('delete from workers');
  await endpoint.sql("delete from processes where id <> 'test'");
});

const pool = () => endpoint.database.pool;
const write = (processId: string, change: Partial<RequestDemand> = {}) =>
  writeRequestDemand(pool(), processId, [
    { endpointId: endpoint.id, held: 0, inFlight: 0, oldestHeldAt: null, workers: {}, ...change },
  ]);
const peer = (id: string) => endpoint.sql('insert into processes (id, seen_at) values ($1, now())', id);
const demand = async () => (await listEndpointDemand(pool(), [endpoint.id]))[0]!;

test('held requests are queued and requests in flight in progress, over all processes; the oldest wait counts', async () => {
  await peer('other');
  await write('test', { held: 2, inFlight: 3, oldestHeldAt: 5_000 });
  await write('other', { held: 1, inFlight: 4, oldestHeldAt: 4_000 });
  const { queued, inProgress, oldestQueuedAt } = await demand();
  expect([queued, inProgress, oldestQueuedAt?.getTime()]).toEqual([3, 7, 4_000]);
  expect(await listActiveEndpoints(pool(), '', { range: 10, limit: 10 })).toMatchObject({ ids: [endpoint.id] });
});

test('a process’s last report replaces the one before', async () => {
  await write('test', { held: 2, oldestHeldAt: 5_000 });
  await write('test');
  const { queued, oldestQueuedAt } = await demand();
  expect([queued, oldestQueuedAt]).toEqual([0, null]);
  expect(await listActiveEndpoints(pool(), '', { range: 10, limit: 10 })).toMatchObject({ ids: [] });
});

test('rows of a dead process, or of one that has not renewed them, do not count', async () => {
  await peer('dead');
  await write('dead', { held: 5, inFlight: 5, oldestHeldAt: 1 });
  await endpoint.sql("update processes set demand_seen_at = now() - interval '11 seconds' where id = 'dead'");
  expect(await demand()).toMatchObject({ queued: 0, inProgress: 0, oldestQueuedAt: null });
  await write('test', { inFlight: 1 });
  expect(await demand()).toMatchObject({ queued: 0, inProgress: 1 });
  await endpoint.sql("delete from processes where id = 'dead'");
  expect(await demand()).toMatchObject({ inProgress: 1 });
  await deleteDeadRequestDemand(pool());
  expect(await endpoint.sql('select process_id from request_demand')).toEqual([{ process_id: 'test' }]);
});

test('a process deletes its rows when it ends', async () => {
  await write('test', { inFlight: 1 });
  await deleteRequestDemand(pool(), 'test', null);
  expect(await demand()).toMatchObject({ inProgress: 0 });
});

test('a worker holds its requests in flight, and is busy while it has any', async () => {
  const id = await endpoint.runningWorker({ http: 80, health: 80 });
  const user = (await endpoint.sql('select user_id from endpoints'))[0].user_id;
  const held = async () => (await listControlledWorkers(pool(), { endpointIds: [endpoint.id] }))[0]!.leased;
  const isBusy = async () => (await listLiveWorkerRows(pool(), user, endpoint.id))[0]!.isBusy;
  await write('test', { inFlight: 2, workers: { [id]: 2 } });
  expect([await held(), await isBusy()]).toEqual([2, true]);
  await write('test', { workers: { [id]: 0 } });
  expect([await held(), await isBusy()]).toEqual([0, false]);
});

test('a leaving worker counts as busy while any process may still send it a request', async () => {
  const id = await endpoint.runningWorker({ http: 80, health: 80 });
  const held = async () => (await listControlledWorkers(pool(), { endpointIds: [endpoint.id] }))[0]!.leased;
  await write('test', { workers: { [id]: 0 } });
  await endpoint.sql("update workers set wanted = 'DRAIN' where id = $1", id);
  expect(await held()).toBe(1);
  await write('test');
  expect(await held()).toBe(0);
});
