import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Person, type RestFixture, startRestApp } from '../../../test/rest-app.ts';
import { newId } from '../../core/ids.ts';

let rest: RestFixture;
let endpointId: string;
let podId: string;
let execKey: string;

beforeAll(async () => {
  rest = await startRestApp();
  execKey = await rest.keyFor(rest.alice, 'exec');
  const body = { name: 'x', image: 'i', gpu: { pools: ['ADA_24'] } };
  endpointId = (await rest.call('POST', '/v2/serverless', { key: rest.alice.key, body })).json().id;
  podId = await addPod(rest.alice);
});
afterAll(() => rest.close());

async function addPod({ userId }: Person, wanted = 'RUN'): Promise<string> {
  const id = newId<string>();
  await rest.database.pool.query(
    `insert into pods (id, user_id, name, image, args, disk_gb, ports, env, cpu, cloud, data_center_ids, has_global_network,
       revision, wanted, phase, phase_revision, data_center_id)
     values ($1, $2, '', 'i', '', 20, '{}', '{}', '{}', 'SECURE', '{}', false, 1, $3, 'RUNNING', 1, 'LOCAL-1')`,
    [id, userId, wanted],
  );
  return id;
}

async function addWorker(columns: Record<string, unknown>): Promise<string> {
  const values = {
    id: newId<string>(),
    endpoint_id: endpointId,
    user_id: rest.alice.userId,
    version: 1,
    wanted_reason: 'idle for 5 s',
    spec: { image: 'i' },
    ...columns,
  };
  const names = Object.keys(values);
  await rest.database.pool.query(
    `insert into workers (${names.join()}) values (${names.map((_, i) => `$${i + 1}`).join()})`,
    Object.values(values),
  );
  return values.id;
}

const create = (path: string, key = execKey, body: object = {}) => rest.call('POST', path, { key, body });
const inPod = (key?: string, body?: object) => create(`/v2/pods/${podId}/terminals`, key, body);

/** Opens the sessions, as a WebSocket does. */
/** As a process does that serves them. */
const openAll = async () => {
  const { pool } = rest.database;
  await pool.query("insert into processes (id, seen_at) values ('data', now()) on conflict (id) do nothing");
  await pool.query("update terminal_sessions set opened_at = now(), seen_at = now(), process_id = 'data'");
};
const deleteAll = () => rest.database.pool.query('delete from terminal_sessions');

test('a session is prepared with a ticket that no answer shows again', async () => {
  const answer = await inPod();
  expect(answer.statusCode).toBe(201);
  const { session, url, protocols } = answer.json();
  expect(session).toMatchObject({
    podId,
    workerId: null,
    program: 'sh',
    hasTerminal: true,
    status: 'PENDING',
    keyName: 'test',
  });
  expect(url).toBe('ws://podyard.test:8080/v2/account/terminals/connect');
  expect(protocols).toEqual(['podyard.terminal.v1', expect.stringMatching(/^ticket\.pyt_[\w-]{32}$/)]);
  await openAll();
  const list = await rest.call('GET', '/v2/account/terminals', { key: rest.alice.key });
  expect(list.json().terminals).toMatchObject([{ id: session.id, status: 'OPEN', userName: 'alice' }]);
  expect(list.body).not.toContain('pyt_');
  await deleteAll();
});

test('it needs a key with the scope exec, which all does not include', async () => {
  expect((await rest.call('POST', `/v2/pods/${podId}/terminals`, { body: {} })).statusCode).toBe(401);
  for (const scope of ['all', 'pods:write', `pods/${podId}:write`, 'exec/other']) {
    expect((await inPod(await rest.keyFor(rest.alice, scope))).statusCode).toBe(403);
  }
  expect((await inPod(await rest.keyFor(rest.alice, `exec/${podId}`))).statusCode).toBe(201);
  const body = { name: 'mine', scopes: ['exec'] };
  const grown = await rest.call('POST', '/v2/account/api-keys', { key: rest.alice.key, body });
  expect(grown.statusCode).toBe(403);
  await deleteAll();
});

test("another user's pod and endpoint, and what does not exist, are the same 404", async () => {
  const key = await rest.keyFor(rest.bob, 'exec');
  const foreign = await inPod(key);
  const missing = await create('/v2/pods/nosuchpod/terminals', key);
  expect(foreign.statusCode).toBe(404);
  expect(foreign.body).toBe(missing.body);
  expect((await create(`/v2/serverless/${endpointId}/terminals`, key)).statusCode).toBe(404);
  const foreignWorker = await addWorker({ phase: 'RUNNING', endpoint_id: 'other' }).catch(() => 'nosuchworker');
  expect(
    (await create(`/v2/serverless/${endpointId}/terminals`, execKey, { workerId: foreignWorker })).statusCode,
  ).toBe(404);
});

test('what does not run is refused with what to do', async () => {
  const stopped = await create(`/v2/pods/${await addPod(rest.alice, 'STOP')}/terminals`);
  expect(stopped.statusCode).toBe(409);
  expect(stopped.json().detail).toMatch(/^The pod is \w+: start it first$/);
  const path = `/v2/serverless/${endpointId}/terminals`;
  expect((await create(path)).json().detail).toBe(
    'The endpoint has no running worker: send it a request, or set workers.min to 1',
  );
  const frozen = await addWorker({ phase: 'FROZEN', wanted: 'FREEZE' });
  expect((await create(path, execKey, { workerId: frozen })).json().detail).toBe(
    `Worker ${frozen} is frozen (idle for 5 s): send the endpoint a request to thaw it`,
  );
  const starting = await addWorker({ phase: 'STARTING' });
  expect((await create(path, execKey, { workerId: starting })).statusCode).toBe(409);
  const running = await addWorker({ phase: 'RUNNING', started_at: new Date() });
  expect((await create(path)).json().session).toMatchObject({ endpointId, workerId: running, podId: null });
  await deleteAll();
});

test('a user has only so many sessions; tickets count until they expire', async () => {
  const answers = await Promise.all(Array.from({ length: 5 }, () => inPod()));
  expect(answers.map(({ statusCode }) => statusCode).toSorted()).toEqual([201, 201, 201, 409, 409]);
  const refused = answers.find(({ statusCode }) => statusCode === 409)!;
  expect(refused.json().detail).toBe('3 terminal sessions are open, and a user may have 3: end one first');
  await rest.database.pool.query("update terminal_sessions set created_at = now() - interval '2 minutes'");
  expect((await inPod()).statusCode).toBe(201);
  await deleteAll();
});

test('sessions are ended by their user or an admin, and seen by nobody else', async () => {
  const { id } = (await inPod()).json().session;
  await openAll();
  const end = (key: string) => rest.call('DELETE', `/v2/account/terminals/${id}`, { key });
  expect((await end(rest.bob.key)).statusCode).toBe(404);
  expect((await end(await rest.keyFor(rest.alice, 'account:read'))).statusCode).toBe(403);
  const all = (key: string) => rest.call('GET', '/v2/account/terminals?user=all', { key });
  expect((await rest.call('GET', '/v2/account/terminals', { key: rest.bob.key })).json().terminals).toEqual([]);
  expect((await all(rest.bob.key)).statusCode).toBe(403);
  await rest.database.pool.query("update users set role = 'ADMIN' where id = $1", [rest.bob.userId]);
  expect((await all(rest.bob.key)).json().terminals).toMatchObject([{ id, userName: 'alice' }]);
  expect((await end(rest.bob.key)).statusCode).toBe(204);
  const { rows } = await rest.database.pool.query('select end_wanted_at from terminal_sessions where id = $1', [id]);
  expect(rows[0].end_wanted_at).not.toBeNull();
  await deleteAll();
});

test.each([
  [{ command: [] }, '/command: '],
  [{ command: ['a\0b'] }, '/command/0: '],
  [{ terminal: { columns: 0, rows: 24 } }, '/terminal'],
  [{ terminal: { columns: 80 } }, '/terminal'],
  [{ shell: 'bash' }, "'shell'"],
])('%j is a 422 that says where', async (body, location) => {
  const answer = await inPod(execKey, body);
  expect(answer.statusCode).toBe(422);
  expect(answer.body).toContain(location);
});
