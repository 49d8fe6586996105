import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../../test/database.ts';
import { insertEndpoint } from '../../../test/insert-endpoint.ts';
import type { EndpointId, UserId } from '../../core/ids.ts';
import type { Actor } from '../access/actor.ts';
import { change } from '../change.ts';
import { getEndpointRow, getEndpointVersion } from './endpoint-store.ts';
import { type EndpointUpdate, updateEndpoint } from './update-endpoint.ts';

const ID = 'e' as EndpointId;
const ACTOR = { userId: 'ann', keyId: 'k', scopes: [{ kind: 'all' }] } as unknown as Actor;
const bus = { publish: () => {} } as never;

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
  await database.pool.query("insert into users (id, name) values ('ann', 'ann')");
});
afterAll(() => database.drop());
beforeEach(async () => {
  await database.pool.query('delete from endpoints');
  await insertEndpoint(database.pool, { id: 'e', user_id: 'ann', image: 'any:v1' });
});

const update = (wanted: EndpointUpdate) =>
  change({ pool: database.pool, bus }, ACTOR, updateEndpoint, { id: ID, update: wanted });

/** The pool, with the first word of each statement outside of a transaction. */
function watchedPool() {
  const texts: string[] = [];
  const pool: typeof database.pool = Object.create(database.pool, {
    query: {
      value: (statement: { text: string }) => {
        texts.push(statement.text.trim().split(' ', 1)[0]!);
        return database.pool.query(statement);
      },
    },
  });
  return { pool, texts };
}

test('of changes that meet, each applies to what the others have left', async () => {
  const grow: EndpointUpdate = (before) => ({ workers: { max: before.workers.max + 1 } });
  const release: EndpointUpdate = (before) => ({ image: `${before.image}x`, timeoutMs: before.timeoutMs + 1 });
  await Promise.all(Array.from({ length: 30 }, (_, i) => update(i % 3 === 0 ? release : grow)));
  const { rows } = await database.pool.query('select workers_max, timeout_ms, image, version from endpoints');
  expect(rows).toEqual([{ workers_max: 23, timeout_ms: 10, image: `any:v1${'x'.repeat(10)}`, version: 11 }]);
});

test('a change waits for a transaction that holds the endpoint, and then applies to what it wrote', async () => {
  const holder = await database.pool.connect();
  await holder.query("begin; update endpoints set workers_min = 2 where id = 'e'");
  const changing = update({ workers: { max: 9 } });
  await expect
    .poll(
      async () => (await database.pool.query("select from pg_stat_activity where wait_event_type = 'Lock'")).rowCount,
    )
    .toBeGreaterThan(0);
  await holder.query('commit');
  holder.release();
  expect((await changing).workers).toEqual({ min: 2, max: 9 });
});

test('a change that follows another is one statement, and one that follows a change of somebody else applies to that', async () => {
  const { pool, texts } = watchedPool();
  const ours = (wanted: EndpointUpdate) => change({ pool, bus }, ACTOR, updateEndpoint, { id: ID, update: wanted });
  await ours({ workers: { max: 9 } });
  const after = await ours({ scaling: { value: 0.1 } });
  expect(texts.splice(0)).toEqual(['select', 'with', 'with']);
  expect(await getEndpointRow(database.pool, ACTOR.userId, ID)).toEqual(after);

  await database.pool.query("update endpoints set workers_min = 12, workers_max = 20 where id = 'e'");
  await expect(ours({ workers: { max: 5 } })).rejects.toThrow('workers');
  await database.pool.query("update endpoints set workers_min = 2 where id = 'e'");
  expect((await ours({ workers: { max: 5 } })).workers).toEqual({ min: 2, max: 5 });
  const { rows } = await database.pool.query(
    "select changes from audit_entries where outcome = 'done' order by seq desc limit 1",
  );
  expect(rows).toEqual([
    {
      changes: {
        workers: [
          { min: 2, max: 20 },
          { min: 2, max: 5 },
        ],
      },
    },
  ]);

  await database.pool.query("delete from endpoints where id = 'e'");
  await expect(ours({ workers: { max: 6 } })).rejects.toThrow('not found');
});

test('a release is stored by the same statement, and only if the row is as it was seen', async () => {
  const { pool, texts } = watchedPool();
  const ours = (wanted: EndpointUpdate) => change({ pool, bus }, ACTOR, updateEndpoint, { id: ID, update: wanted });
  await database.pool.query("update endpoints set serving_version = 1 where id = 'e'");
  await ours({ args: 'first' });
  await database.pool.query(
    "update releases set image_digest = 'sha256:1', image_reference = 'any@sha256:1', image_resolved_at = now() where version = 2",
  );
  const after = await ours({ args: 'second', workers: { max: 9 } });
  expect(texts.splice(0)).toEqual(['select', 'with', 'with']);
  expect(after).toMatchObject({ args: 'second', version: 3, workers: { min: 0, max: 9 } });
  expect(await getEndpointRow(database.pool, ACTOR.userId, ID)).toEqual(after);
  const stored = () =>
    database.pool.query(
      `select r.version, r.spec ->> 'args' as args, r.diff, r.image_digest as digest, r.created_by as by, e.serving_version as serving
       from releases r join endpoints e on e.id = r.endpoint_id order by r.version`,
    );
  const first = { version: 2, args: 'first', by: 'ann', digest: 'sha256:1', serving: null };
  const second = { ...first, version: 3, args: 'second' };
  expect((await stored()).rows).toEqual([
    { ...first, diff: [{ field: 'args', old: '', new: 'first' }] },
    { ...second, diff: [{ field: 'args', old: 'first', new: 'second' }] },
  ]);

  await database.pool.query("update endpoints set args = 'third' where id = 'e'");
  expect(await ours({ args: 'third' })).toMatchObject({ version: 3 }); // which is no change any more
  expect((await stored()).rows).toHaveLength(2);
  await ours({ image: 'any:v2' });
  expect((await stored()).rows.at(-1)).toMatchObject({ version: 4, digest: null });
  const { rows } = await database.pool.query(
    "select changes from audit_entries where outcome = 'done' order by seq desc limit 1",
  );
  expect(rows).toEqual([{ changes: { image: ['any:v1', 'any:v2'], version: [3, 4] } }]);
});

test.each([
  ['a registry', { registryId: 'r' }, 'registry'],
  ['a volume', { networkVolumeIds: ['v'] }, 'network volume'],
  ['the image of a build', { image: 'builds.podyard.internal/x:a0123456789abc' }, 'build'],
])('a release with %s that is not there is refused', async (_, wanted, missing) => {
  await update({ workers: { max: 9 } });
  await expect(update(wanted)).rejects.toThrow(missing);
});

test('a key that may not read a secret cannot have another command get it', async () => {
  await update({ env: { TOKEN: '{{ RUNPOD_SECRET_hub }}' } });
  const limited = {
    ...ACTOR,
    scopes: [{ kind: 'area', area: 'serverless', resourceId: null, access: 'write' }],
  } as unknown as Actor;
  await expect(
    change({ pool: database.pool, bus }, limited, updateEndpoint, { id: ID, update: { args: 'print-env' } }),
  ).rejects.toMatchObject({ kind: 'forbidden' });
});

test('simultaneous reads share a statement, and each gets its own answer', async () => {
  const statements: unknown[] = [];
  const pool = Object.create(database.pool, {
    query: {
      value: (statement: object) => {
        statements.push(statement);
        return database.pool.query(statement as never);
      },
    },
  });
  const read = (userId: string, id: string) => getEndpointVersion(pool, userId as UserId, id as EndpointId);
  const all = () => Promise.allSettled([read('ann', ID), read('ann', ID), read('bea', ID), read('ann', 'none')]);
  const [first, again, stranger, none] = await all();
  expect(first).toMatchObject({ status: 'fulfilled', value: { endpoint: { id: ID, userId: 'ann' } } });
  expect(again).toEqual(first);
  for (const refused of [stranger, none])
    expect(refused).toMatchObject({ status: 'rejected', reason: { kind: 'notFound' } });
  expect(statements).toHaveLength(1);

  // PostgreSQL refuses this id, and the statement with it.
  expect(await Promise.allSettled([read('ann', ID), read('ann', 'a\0b')])).toMatchObject([
    first,
    { status: 'rejected' },
  ]);
});
