import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type RestFixture, startRestApp } from '../../../test/rest-app.ts';
import { systemClock } from '../../core/clock.ts';
import { createApiKey } from '../../domain/access/create-api-key.ts';
import { parseScope } from '../../domain/access/scopes.ts';
import { createUser } from '../../domain/access/users.ts';
import { change } from '../../domain/change.ts';
import { ensureSimulation, takeIncidents } from '../../domain/simulation/simulation.ts';

const PATH = '/v2/account/simulation';
const GPUS = [{ pool: 'ADA_24', dataCenterId: 'LOCAL-1', total: 4 }];

let rest: RestFixture;
let admin: string;
beforeAll(async () => {
  rest = await startRestApp();
  const user = await createUser(rest.database.pool, { name: 'admin', email: null, role: 'ADMIN' });
  const input = { userId: user.id, name: 'k', scopes: [parseScope('all')], expiresAt: null };
  admin = (
    await change(
      { pool: rest.database.pool, bus: { publish: () => {} }, clock: systemClock },
      null,
      createApiKey,
      input,
    )
  ).secret;
});
beforeEach(() => ensureSimulation(rest.database.pool, GPUS));
afterAll(() => rest.close());

const simulate = (body: object | undefined, key = admin) => rest.call('POST', PATH, { key, ...(body && { body }) });
const get = (key = admin) => rest.call('GET', PATH, { key });

test('capacity is set by pool and data center, and reset restores the start-up settings', async () => {
  expect((await get()).json()).toEqual({ gpus: GPUS, slowPull: null });
  const elsewhere = { pool: 'ADA_24', dataCenterId: 'EU-RO-1', total: 2 };
  expect((await simulate({ action: 'capacity', ...elsewhere })).json().gpus).toEqual([...GPUS, elsewhere]);
  const none = await simulate({ action: 'capacity', pool: 'ADA_24', total: 0 });
  expect(none.json().gpus).toEqual([{ ...GPUS[0], total: 0 }, elsewhere]);
  expect((await simulate({ action: 'reset' })).json()).toEqual({ gpus: GPUS, slowPull: null });
});

test('the simulation survives restarts, until the server starts with other or real GPUs', async () => {
  await simulate({ action: 'slow-pull', seconds: 2.5, image: 'any:v1' });
  await ensureSimulation(rest.database.pool, GPUS);
  expect((await get()).json().slowPull).toEqual({ seconds: 2.5, image: 'any:v1' });
  const others = [{ ...GPUS[0]!, total: 8 }];
  await ensureSimulation(rest.database.pool, others);
  expect((await get()).json()).toEqual({ gpus: others, slowPull: null });
  await ensureSimulation(rest.database.pool, null);
  for (const answer of [await get(), await simulate({ action: 'reset' })]) expect(answer.statusCode).toBe(409);
});

test('a crash or preemption is queued once for the leader', async () => {
  const body = { name: 'x', image: 'any:v1', gpu: { pools: ['ADA_24'] } };
  const endpointId = (await rest.call('POST', '/v2/serverless', { key: rest.alice.key, body })).json().id;
  await rest.database.pool.query(
    `insert into workers (id, endpoint_id, user_id, version, wanted_reason, phase, spec)
     values ('w1', $1, $2, 1, '', 'RUNNING', '{}')`,
    [endpointId, rest.alice.userId],
  );
  expect((await simulate({ action: 'crash', workerId: 'w1', exitCode: 7 })).statusCode).toBe(200);
  expect((await simulate({ action: 'crash', endpointId, starts: 2 })).statusCode).toBe(200);
  expect((await simulate({ action: 'preempt', workerId: 'w1' })).statusCode).toBe(200);
  expect(await takeIncidents(rest.database.pool)).toEqual([
    { kind: 'crash', workloadId: 'w1', exitCode: 7 },
    { kind: 'crashStarts', endpointId, starts: 2 },
    { kind: 'preempt', workloadId: 'w1', graceSeconds: 5 },
  ]);
  expect(await takeIncidents(rest.database.pool)).toEqual([]);
});

test.each([
  ['capacity needs pool', { action: 'capacity', total: 1 }],
  ['capacity needs total', { action: 'capacity', pool: 'ADA_24' }],
  ["pool: there is no GPU pool 'NOPE'", { action: 'capacity', pool: 'NOPE', total: 1 }],
  [
    "dataCenterId: there is no data center 'NOWHERE'",
    { action: 'capacity', pool: 'ADA_24', dataCenterId: 'NOWHERE', total: 1 },
  ],
  ['slow-pull needs seconds', { action: 'slow-pull' }],
  ['crash needs either workerId or endpointId', { action: 'crash' }],
  ['preempt needs workerId', { action: 'preempt' }],
])('%s', async (detail, body) => {
  const answer = await simulate(body);
  expect([answer.statusCode, answer.json().detail]).toEqual([400, detail]);
});

test('a missing body is 400, an unknown action or member 422, a missing worker or endpoint 404', async () => {
  expect((await simulate(undefined)).statusCode).toBe(400);
  expect((await simulate({ action: 'explode' })).statusCode).toBe(422);
  expect((await simulate({ action: 'reset', why: 'so' })).statusCode).toBe(422);
  expect((await simulate({ action: 'crash', workerId: 'nosuchworker' })).statusCode).toBe(404);
  expect((await simulate({ action: 'crash', endpointId: 'nosuchendpoint' })).statusCode).toBe(404);
  expect((await simulate({ action: 'preempt', workerId: 'nosuchworker' })).statusCode).toBe(404);
});

test('only the operator may read or change it', async () => {
  expect((await rest.call('GET', PATH, {})).statusCode).toBe(401);
  expect((await rest.call('POST', PATH, { body: { action: 'reset' } })).statusCode).toBe(401);
  for (const key of [rest.alice.key, await rest.keyFor(rest.alice, 'serverless:write')]) {
    expect((await get(key)).statusCode).toBe(403);
    expect((await simulate({ action: 'reset' }, key)).statusCode).toBe(403);
  }
});
