import { afterAll, beforeAll, expect, test } from 'vitest';
import { ModelHub } from '../../../test/model-hub.ts';
import { type RestFixture, startRestApp } from '../../../test/rest-app.ts';
import { systemClock } from '../../core/clock.ts';
import { createApiKey } from '../../domain/access/create-api-key.ts';
import { parseScope } from '../../domain/access/scopes.ts';
import { createUser } from '../../domain/access/users.ts';
import { change } from '../../domain/change.ts';
import {
  listModelOrders,
  type MachineState,
  markFetchFailed,
  writeMachineState,
} from '../../domain/machine-models/machine-model-store.ts';
import type { PinnedModel } from '../../domain/models/pinned-model.ts';
import { pinModel } from '../../domain/models/pinned-model-store.ts';

let rest: RestFixture;
let hub: ModelHub;
let admin: string;
let held: PinnedModel;
let idle: PinnedModel;
beforeAll(async () => {
  hub = await ModelHub.start();
  rest = await startRestApp({ hubUrl: hub.url });
  const { pool } = rest.database;
  const user = await createUser(pool, { name: 'admin', email: null, role: 'ADMIN' });
  const input = { userId: user.id, name: 'k', scopes: [parseScope('all')], expiresAt: null };
  admin = (await change({ pool, bus: { publish: () => {} }, clock: systemClock }, null, createApiKey, input)).secret;
  held = await pin('org/held');
  idle = await pin('org/idle');
  await store();
  const body = { name: 'chat', image: 'any:v1', gpu: { pools: ['ADA_24'] } };
  const { id } = (await rest.call('POST', '/v2/serverless', { key: rest.alice.key, body })).json();
  await pool.query(
    `update releases set spec = spec || jsonb_build_object('models', $2::jsonb) where endpoint_id = $1`,
    [id, JSON.stringify([{ id: held.id }])],
  );
});
afterAll(async () => {
  await rest.close();
  await hub.close();
});

function pin(name: string): Promise<PinnedModel> {
  const files = [{ path: 'a.bin', size: 12, digest: `sha256:${'0'.repeat(64)}` as const }];
  return pinModel(rest.database.pool, { source: 'HUB', name, commit: '0'.repeat(40), files });
}

/** As control writes down what the machine has. */
function store(more: Partial<MachineState> = {}): Promise<void> {
  const fetchedAt = '2026-11-20T10:00:00.000Z';
  const stored = [
    { model: held, fetchedAt, usedAt: '2026-11-21T10:00:00.000Z', isHeld: true },
    { model: idle, fetchedAt, usedAt: fetchedAt, isHeld: false },
  ];
  const room = { budgetBytes: 100, usedBytes: 24, stuckBytes: 12 };
  return writeMachineState(rest.database.pool, { stored, fetching: [], room, ...more });
}

const list = async (key: string) => (await rest.call('GET', '/v2/models', { key })).json().models;
const remove = (id: string, key = admin) => rest.call('DELETE', `/v2/models/${id}`, { key });

test('an admin sees all models, the last one used first; others those of their own endpoints', async () => {
  const all = await list(admin);
  expect(all.map(({ name }: { name: string }) => name)).toEqual(['org/held', 'org/idle']);
  expect(all[0]).toEqual({
    id: held.id,
    source: 'HUB',
    name: 'org/held',
    commit: '0'.repeat(40),
    bytes: 12,
    state: 'STORED',
    fetch: null,
    problem: null,
    pinned: false,
    fetchedAt: '2026-11-20T10:00:00.000Z',
    usedAt: '2026-11-21T10:00:00.000Z',
    inUse: true,
    endpoints: [{ id: expect.any(String), name: 'chat' }],
  });
  expect(await list(rest.alice.key)).toEqual([all[0]]);
  expect(await list(rest.bob.key)).toEqual([]);
});

test('an admin removes one that no worker uses', async () => {
  expect((await remove(held.id)).statusCode).toBe(400);
  expect((await remove(held.id)).json().detail).toContain('a worker uses this model');
  expect((await remove(idle.id)).statusCode).toBe(204);
  expect((await listModelOrders(rest.database.pool)).filter(({ isUnwanted }) => isUnwanted)).toMatchObject([
    { id: idle.id },
  ]);
  expect((await remove('f'.repeat(64))).statusCode).toBe(404);
});

test('others may not, whether it is there or not', async () => {
  const answers = [await remove(idle.id, rest.alice.key), await remove('nothing', rest.alice.key)];
  for (const answer of answers) expect(answer.statusCode).toBe(403);
  expect(answers[0]!.json().detail).toBe(answers[1]!.json().detail);
  expect((await rest.call('GET', '/v2/models', {})).statusCode).toBe(401);
});

const fetchModel = (body: object, key = admin) => rest.call('POST', '/v2/models', { key, body });
const pinModelTo = (id: string, pinned: boolean) =>
  rest.call('PATCH', `/v2/models/${id}`, { key: admin, body: { pinned } });
const orderOf = async (id: string) => (await listModelOrders(rest.database.pool)).find((one) => one.id === id);

test('an admin has a model fetched ahead, sees how far it is, and ends that by removing it', async () => {
  hub.models.set('org/ahead', { files: { 'a.bin': { size: 60, lfs: true }, 'b.gguf': { size: 900, lfs: true } } });
  const answer = await fetchModel({ source: 'hf:org/ahead', exclude: ['*.gguf'], pinned: true });
  expect(answer.statusCode).toBe(201);
  const { id } = answer.json();
  const waiting = { name: 'org/ahead', bytes: 60, state: 'FETCHING', pinned: true, inUse: false, fetchedAt: null };
  expect(answer.json()).toMatchObject({ ...waiting, fetch: { bytes: 0, totalBytes: 0, secondsLeft: null } });
  expect(await orderOf(id)).toMatchObject({ isKept: true, isStored: false, tokenSecret: null });
  await store({ fetching: [{ id, bytes: 20, totalBytes: 60, bytesPerSecond: 15 }] });
  expect((await list(admin))[0]).toMatchObject({
    ...waiting,
    fetch: { bytes: 20, totalBytes: 60, bytesPerSecond: 15, secondsLeft: 3 },
  });
  await markFetchFailed(rest.database.pool, id, 'the hub is away');
  expect((await list(admin))[0]).toMatchObject({ state: 'FAILED', problem: 'the hub is away', fetch: null });
  expect((await fetchModel({ source: 'hf:org/ahead', exclude: ['*.gguf'] })).json()).toMatchObject(waiting);
  expect((await remove(id)).statusCode).toBe(204);
  expect(await orderOf(id)).toBeUndefined();
});

test('a model that a worker waits for is shown and cannot be removed', async () => {
  const { id } = await pin('org/worker');
  await store({ fetching: [{ id, bytes: 1, totalBytes: 12, bytesPerSecond: 0 }] });
  expect((await list(admin))[0]).toMatchObject({ id, state: 'FETCHING', fetch: { secondsLeft: null } });
  expect((await remove(id)).json().detail).toContain('a worker waits for this model');
  await store();
  expect(await orderOf(id)).toBeUndefined();
});

test('one that is larger than the budget, or does not fit beside pinned ones, is refused', async () => {
  hub.models.set('org/huge', { files: { 'a.bin': { size: 101, lfs: true } } });
  expect((await fetchModel({ source: 'hf:org/huge' })).json().detail).toBe(
    "the model 'org/huge' has 101 B, but models may take 100 B on this machine (--models-gb)",
  );
  hub.models.set('org/large', { files: { 'a.bin': { size: 90, lfs: true } } });
  expect((await pinModelTo(held.id, true)).json()).toMatchObject({ pinned: true });
  expect((await pinModelTo(idle.id, true)).statusCode).toBe(200); // the same file as the other: counted once
  const refused = await fetchModel({ source: 'hf:org/large' });
  expect([refused.statusCode, refused.json().detail]).toEqual([
    400,
    "pinned models and 'org/large' have 102 B, but models may take 100 B on this machine (--models-gb): unpin one",
  ]);
  for (const { id } of [held, idle]) await pinModelTo(id, false);
  expect((await fetchModel({ source: 'hf:org/large', pinned: true })).statusCode).toBe(201);
  expect((await pinModelTo(held.id, true)).json().detail).toContain("pinned models and 'org/held' have 102 B");
  expect((await pinModelTo('f'.repeat(64), true)).statusCode).toBe(404);
});

test('only admins fetch and pin, also where the model is their own endpoint’s', async () => {
  const { key } = rest.alice;
  expect((await fetchModel({ source: 'hf:org/large' }, key)).statusCode).toBe(403);
  const body = { pinned: true };
  expect((await rest.call('PATCH', `/v2/models/${held.id}`, { key, body })).statusCode).toBe(403);
  expect((await fetchModel({ source: 'hf:org/none' })).json().detail).toContain('source: ');
  expect((await fetchModel({ source: 'hf:org/large', tokenSecret: 'none' })).json().detail).toContain(
    "no secret 'none'",
  );
  expect((await fetchModel({ source: '' })).statusCode).toBe(422);
});

test('a model that left is not listed any more', async () => {
  await store({ stored: [] });
  expect((await list(admin)).map(({ state }: { state: string }) => state)).toEqual(['FETCHING']); // still wanted
});
