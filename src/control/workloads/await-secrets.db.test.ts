import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../../test/database.ts';
import { newEndpoint } from '../../../test/new-endpoint.ts';
import { newId, type WorkerId } from '../../core/ids.ts';
import { createSecretBox, type SecretBox } from '../../core/secret-box.ts';
import type { Actor } from '../../domain/access/actor.ts';
import { createUser } from '../../domain/access/users.ts';
import { change } from '../../domain/change.ts';
import type { Context } from '../../domain/context.ts';
import { createEndpoint } from '../../domain/endpoints/create-endpoint.ts';
import { createSecret, deleteSecret } from '../../domain/secrets/change-secret.ts';
import { insertWorkers } from '../../domain/workers/insert-workers.ts';
import { listWorkers } from '../../domain/workers/list-workers.ts';
import { listControlledWorkers, markPending } from '../../domain/workers/worker-lifecycle.ts';
import { awaitSecrets } from './await-secrets.ts';

let database: TestDatabase;
let context: Context & { secretBox: SecretBox };
let anna: Actor;
const workers: WorkerId[] = [];
const lines: string[] = [];
const logs = { system: (_: string, line: string) => lines.push(line) };
beforeAll(async () => {
  database = await createTestDatabase();
  context = { pool: database.pool, bus: { publish: () => {} }, secretBox: createSecretBox(randomBytes(32)) };
  const { id: userId } = await createUser(database.pool, { name: 'anna', email: null });
  anna = { userId, keyId: 'k' as never, scopes: [{ kind: 'all' }] };
});
afterAll(() => database.drop());

async function addWorker(env: Record<string, string>) {
  const { id: endpointId } = await change(context, anna, createEndpoint, newEndpoint({ env }));
  const id = newId<WorkerId>();
  await insertWorkers(database.pool, [{ id, endpointId, reason: 'test', pause: null }]);
  workers.push(id);
  return { id, endpointId };
}

/** Returns which of the pending workers may start. */
async function whoMayStart(): Promise<string[]> {
  const pending = await listControlledWorkers(database.pool, { ids: workers });
  return (await awaitSecrets({ pool: database.pool, logs }, pending)).map(({ id }) => id);
}

test('a worker whose secret is missing waits, unhealthy, with one log line; the others start; it starts once the secret exists', async () => {
  const blocked = await addWorker({ A: '{{ RUNPOD_SECRET_x }}{{ RUNPOD_SECRET_y }}' });
  const free = await addWorker({ A: 'x' });
  const statusOf = async () =>
    (await listWorkers(database.pool, anna.userId, blocked.endpointId, Date.now())).workers[0]!.status;
  expect(await whoMayStart()).toEqual([free.id]);
  expect(await whoMayStart()).toEqual([free.id]);
  expect(lines).toEqual(["waits: there are no secrets 'x', 'y', which its env names"]);
  expect(await statusOf()).toBe('UNHEALTHY');

  const { id } = await change(context, anna, createSecret, { name: 'x', value: 'v', description: null });
  expect(await whoMayStart()).toEqual([free.id]);
  expect(lines.at(-1)).toBe("waits: there is no secret 'y', which its env names");
  await change(context, anna, createSecret, { name: 'y', value: 'v', description: null });
  expect(await whoMayStart()).toEqual([blocked.id, free.id]);
  await markPending(database.pool, blocked.id, 'no capacity: none is free');
  expect(await statusOf()).toBe('THROTTLED');

  await change(context, anna, deleteSecret, { id, isForced: true });
  expect(await whoMayStart()).toEqual([free.id]);
  expect(await statusOf()).toBe('UNHEALTHY');
  expect(lines).toHaveLength(3);
});

test('a secret of another user does not count', async () => {
  const { id: userId } = await createUser(database.pool, { name: 'berta', email: null });
  await change(context, { ...anna, userId }, createSecret, { name: 'theirs', value: 'v', description: null });
  const { id } = await addWorker({ A: '{{ RUNPOD_SECRET_theirs }}' });
  expect(await whoMayStart()).not.toContain(id);
});
