import { afterAll, beforeAll, expect, test } from 'vitest';
import { type RestFixture, startRestApp } from '../../../test/rest-app.ts';
import { systemClock } from '../../core/clock.ts';
import { createApiKey } from '../../domain/access/create-api-key.ts';
import { parseScope } from '../../domain/access/scopes.ts';
import { createUser } from '../../domain/access/users.ts';
import { change } from '../../domain/change.ts';
import { listUnwantedModels, replaceMachineModels } from '../../domain/machine-models/machine-model-store.ts';
import type { PinnedModel } from '../../domain/models/pinned-model.ts';
import { pinModel } from '../../domain/models/pinned-model-store.ts';

let rest: RestFixture;
let admin: string;
let held: PinnedModel;
let idle: PinnedModel;
beforeAll(async () => {
  rest = await startRestApp();
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
afterAll(() => rest.close());

function pin(name: string): Promise<PinnedModel> {
  const files = [{ path: 'a.bin', size: 12, digest: `sha256:${'0'.repeat(64)}` as const }];
  return pinModel(rest.database.pool, { source: 'HUB', name, commit: '0'.repeat(40), files });
}

/** As control writes down what the machine has. */
function store(heldNow = true): Promise<void> {
  const fetchedAt = '2026-11-20T10:00:00.000Z';
  return replaceMachineModels(rest.database.pool, [
    { model: held, fetchedAt, usedAt: '2026-11-21T10:00:00.000Z', isHeld: heldNow },
    { model: idle, fetchedAt, usedAt: fetchedAt, isHeld: false },
  ]);
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
  expect(await listUnwantedModels(rest.database.pool)).toEqual([idle.id]);
  expect((await remove('f'.repeat(64))).statusCode).toBe(404);
});

test('others may not, whether it is there or not', async () => {
  const answers = [await remove(idle.id, rest.alice.key), await remove('nothing', rest.alice.key)];
  for (const answer of answers) expect(answer.statusCode).toBe(403);
  expect(answers[0]!.json().detail).toBe(answers[1]!.json().detail);
  expect((await rest.call('GET', '/v2/models', {})).statusCode).toBe(401);
});

test('a model that left is not listed any more', async () => {
  await replaceMachineModels(rest.database.pool, []);
  expect(await list(admin)).toEqual([]);
});
