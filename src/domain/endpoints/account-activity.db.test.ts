import { afterAll, beforeAll, expect, test } from 'vitest';
import { BalancedEndpoint } from '../../../test/balanced-endpoint.ts';
import type { UserId, WorkerId } from '../../core/ids.ts';
import { readAccountActivity } from './account-activity.ts';
import { writeRequestDemand } from './request-demand.ts';

let endpoint: BalancedEndpoint;
let userId: UserId;
beforeAll(async () => {
  endpoint = await BalancedEndpoint.create();
  [{ id: userId }] = (await endpoint.sql('select id from users')) as [{ id: UserId }];
});
afterAll(() => endpoint.close());

const read = (id = userId) => readAccountActivity(endpoint.database.pool, id, Date.now());
const has = (held: number, workers: Record<WorkerId, number>) =>
  writeRequestDemand(endpoint.database.pool, 'test', [
    { endpointId: endpoint.id, held, inFlight: Object.values(workers).length, oldestHeldAt: null, workers },
  ]);

test('a load-balancing endpoint is busy with its requests, and its workers match its own list', async () => {
  const id = await endpoint.runningWorker({ http: 1, health: 1 });
  await endpoint.sql('update workers set ready_at = now() where id = $1', id);
  await has(2, {});
  expect(await read()).toMatchObject({
    requests: { held: 2, inFlight: 0 },
    workers: { idle: 0, total: 1 },
    active: [{ id: endpoint.id, inQueue: 2, inProgress: 0 }],
  });
  await endpoint.sql('update workers set serving_at = now() where id = $1', id);
  expect(await read()).toMatchObject({ workers: { idle: 1, total: 1 } });
  await has(0, { [id]: 1 });
  expect(await read()).toMatchObject({
    jobs: { inQueue: 0, inProgress: 0 },
    requests: { held: 0, inFlight: 1 },
    workers: { running: 1, total: 1 },
    active: [{ id: endpoint.id, inQueue: 0, inProgress: 1, workers: { running: 1 } }],
  });
  expect(await read('somebody' as UserId)).toMatchObject({ endpoints: 0, requests: { inFlight: 0 }, active: [] });
});
