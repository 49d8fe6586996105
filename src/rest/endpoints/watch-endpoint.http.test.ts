import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Person, type RestFixture, startRestApp } from '../../../test/rest-app.ts';

let rest: RestFixture;
let server: Server;
let base: string;

beforeAll(async () => {
  rest = await startRestApp({ capacity: { read: async () => ({ gpus: [], cpus: 64, memoryBytes: 2 ** 38 }) } });
  server = createServer((request, response) => rest.app.routing(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(async () => {
  await new Promise((resolve) => server.close(resolve));
  await rest.close();
});

async function createEndpoint(person: Person = rest.alice): Promise<string> {
  const body = { name: 'x', image: 'i', gpu: { pools: ['ADA_24'] } };
  return (await rest.call('POST', '/v2/serverless', { key: person.key, body })).json().id;
}

async function addWorker(endpointId: string, id: string, person: Person = rest.alice): Promise<void> {
  await rest.database.pool.query(
    `insert into workers (id, endpoint_id, user_id, version, wanted_reason, spec) values ($1, $2, $3, 1, '', '{}')`,
    [id, endpointId, person.userId],
  );
  rest.bus.publish('worker', id);
}

/** Opens a live view; `next()` resolves with the next snapshot, undefined once the stream has ended. */
async function watch(path: string, person: Person = rest.alice) {
  const response = await fetch(base + path, { headers: { authorization: `Bearer ${person.key}` } });
  expect(response.headers.get('content-type')).toBe('text/event-stream');
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  const next = async () => {
    for (;;) {
      const end = text.indexOf('\n\n');
      if (end >= 0) {
        const event = text.slice(0, end);
        text = text.slice(end + 2);
        if (event.startsWith('event: snapshot\ndata: ')) return JSON.parse(event.slice(22));
        continue;
      }
      const { value, done } = await reader.read();
      if (done) return undefined;
      text += value;
    }
  };
  return { next, close: () => reader.cancel() };
}

test('streams an endpoint’s current state, then each change, and ends when it is deleted', async () => {
  const id = await createEndpoint();
  const live = await watch(`/v2/serverless/${id}/live`);
  expect(await live.next()).toMatchObject({ jobs: { inQueue: 0, completed: 0 }, workers: [], endpointVersion: 1 });
  await addWorker(id, `w-${id}`);
  expect(await live.next()).toMatchObject({
    workers: [{ id: `w-${id}`, status: 'INITIALIZING', isStale: false }],
    summary: { total: 1, initializing: 1 },
    rollout: { workersTotal: 1 },
  });
  expect((await rest.call('DELETE', `/v2/serverless/${id}`, { key: rest.alice.key })).statusCode).toBe(204);
  let last = await live.next();
  while (last !== undefined) last = await live.next();
});

test('streams an account’s totals and its active endpoints', async () => {
  const carol = await rest.addPerson('carol');
  const id = await createEndpoint(carol);
  await createEndpoint(carol);
  const live = await watch('/v2/account/live', carol);
  const first = await live.next();
  expect(first).toMatchObject({ endpoints: 2, active: [], workers: { total: 0 } });
  await addWorker(id, `v-${id}`, carol);
  expect(await live.next()).toMatchObject({
    workers: { total: 1 },
    active: [{ id, inQueue: 0, inProgress: 0, workers: { initializing: 1 } }],
  });
  await live.close();
});

test('streams the current pods, then each change', async () => {
  const dave = await rest.addPerson('dave');
  const live = await watch('/v2/pods/live', dave);
  expect(await live.next()).toEqual({ pods: [] });
  const body = { name: 'box', image: 'i', cpu: { id: 'cpu3c', vcpuCount: 2 } };
  const { id } = (await rest.call('POST', '/v2/pods', { key: dave.key, body })).json();
  expect(await live.next()).toMatchObject({ pods: [{ id, name: 'box', status: 'PROVISIONING' }] });
  await live.close();
  const one = await rest.keyFor(dave, `pods/${id}:read`);
  expect((await rest.call('GET', '/v2/pods/live', { key: one })).statusCode).toBe(403);
});

test('the limit of the queue follows workers.max, and says so', async () => {
  const id = await createEndpoint();
  const live = await watch(`/v2/serverless/${id}/live`);
  const { queueLimit } = await live.next();
  expect(queueLimit.jobs).toBeGreaterThan(50);
  const body = { workers: { min: 0, max: 0 } };
  await rest.call('PATCH', `/v2/serverless/${id}`, { key: rest.alice.key, body });
  const reason = expect.stringContaining('workers.max 0, which pauses the endpoint');
  let { queueLimit: paused } = await live.next();
  while (paused.jobs !== 50) paused = (await live.next()).queueLimit;
  expect(paused).toEqual({ jobs: 50, reason });
  await live.close();
});

test("another user's endpoint is the same 404 as a missing one", async () => {
  const foreign = await rest.call('GET', `/v2/serverless/${await createEndpoint()}/live`, { key: rest.bob.key });
  const missing = await rest.call('GET', '/v2/serverless/nothing/live', { key: rest.bob.key });
  expect(foreign.statusCode).toBe(404);
  expect(foreign.body).toBe(missing.body);
});

test('no key is a 401; a key without the area, or for one endpoint only, is a 403', async () => {
  const id = await createEndpoint();
  expect((await rest.call('GET', `/v2/serverless/${id}/live`)).statusCode).toBe(401);
  const templates = await rest.keyFor(rest.alice, 'templates:read');
  expect((await rest.call('GET', `/v2/serverless/${id}/live`, { key: templates })).statusCode).toBe(403);
  const one = await rest.keyFor(rest.alice, `serverless/${id}:read`);
  expect((await rest.call('GET', '/v2/account/live', { key: one })).statusCode).toBe(403);
});
