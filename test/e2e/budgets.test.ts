/** A budget that is used up, on a real server with real worker processes. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../database.ts';
import { Api, until } from './api.ts';
import { ServerProcess } from './server-process.ts';

let database: TestDatabase;
let server: ServerProcess;
let receiver: Server;
let api: Api;
let endpointId: string;
const notices: { type: string; percent: number; isStopped: boolean }[] = [];

beforeAll(async () => {
  receiver = createServer(async (req, res) => {
    notices.push(JSON.parse((await req.toArray()).join('')));
    res.end();
  });
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
  database = await createTestDatabase();
  const env = { PODYARD_ALLOW_PRIVATE_WEBHOOKS: 'true' };
  server = await ServerProcess.start({ runtime: 'process', databaseUrl: database.url, env });
  api = new Api(server);
  endpointId = await api.createEndpoint({ name: 'budgeted', workers: { min: 1, max: 1 } });
});
afterAll(async () => {
  receiver?.close();
  await server?.dispose();
  await database?.drop();
});

test('running jobs end, others wait without a worker and survive a restart; raised, they are worked on', async () => {
  await api.runToEnd(endpointId, { echo: 1 });
  const running = await api.run(endpointId, { delayMs: 3_000 });
  await until('the job to run', async () => (await api.status(endpointId, running.id)).status === 'IN_PROGRESS');
  await database.pool.query(
    `insert into usage_days select id, (now() at time zone 'UTC')::date, 'POD', 'p1', 'p', 0, 0, 0, 10, 0, 0 from users`,
  );
  const webhook = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`;
  const body = { amount: '5', action: 'STOP', webhook };
  const { id } = await api.call<{ id: string }>('POST', '/v2/billing/budgets', body);
  const waiting = await api.run(endpointId, { echo: 2 });
  expect(await api.ended(endpointId, running.id)).toMatchObject({ status: 'COMPLETED' });
  await until('no worker', async () => (await api.workers(endpointId)).length === 0);
  await until('the notice', async () => notices.length === 1);
  expect(notices[0]).toMatchObject({ type: 'budget.threshold', percent: 100, isStopped: true });
  const pending = () => database.pool.query('select from webhook_deliveries');
  await until('its delivery to be recorded', async () => (await pending()).rowCount === 0);

  await server.kill();
  await server.start();
  const state = await api.call<{ state: string; reason: string }>('GET', `/v2/serverless/${endpointId}/state`);
  expect(state).toMatchObject({
    state: 'PAUSED',
    reason: expect.stringContaining('monthly budget of 5 USD is used up'),
  });
  expect(await api.status(endpointId, waiting.id)).toMatchObject({ status: 'IN_QUEUE' });
  expect(await api.workers(endpointId)).toEqual([]);

  await api.call('PATCH', `/v2/billing/budgets/${id}`, { amount: '50' });
  expect(await api.ended(endpointId, waiting.id)).toMatchObject({ status: 'COMPLETED' });
  expect(notices).toHaveLength(1);
});
