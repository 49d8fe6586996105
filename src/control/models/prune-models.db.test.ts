import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../../test/database.ts';
import { insertEndpoint } from '../../../test/insert-endpoint.ts';
import { silentLogger } from '../../core/logger.ts';
import { findModelRoom, orderModel, writeMachineState } from '../../domain/machine-models/machine-model-store.ts';
import { pinModel } from '../../domain/models/pinned-model-store.ts';
import { pruneModelsLoop } from './prune-models.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
  await database.pool.query(`insert into users (id, name) values ('anna', 'anna')`);
});
afterAll(() => database.drop());

const pin = (name: string) =>
  pinModel(database.pool, { source: 'HUB', name, commit: 'c'.repeat(40), files: [] }).then(({ id }) => id);
const sql = async (text: string, ...values: unknown[]) => (await database.pool.query(text, values)).rows;
const names = async () => (await sql('select name from pinned_models order by name')).map(({ name }) => name);
const prune = (hasStore = true) => pruneModelsLoop({ pool: database.pool, logger: silentLogger, hasStore }).runOnce();

test('a model that no release, live worker or machine has is deleted a day after it was pinned last', async () => {
  const ids = { released: '', ran: '', runs: '', stored: '', unused: '', again: '', fresh: '' };
  for (const name of Object.keys(ids) as (keyof typeof ids)[]) ids[name] = await pin(name);
  await sql(`update pinned_models set created_at = now() - interval '2 days' where name <> 'fresh'`);
  await insertEndpoint(database.pool, { id: 'one', user_id: 'anna' });
  const spec = (id: string) => JSON.stringify({ models: [{ id }] });
  const release = `insert into releases (id, endpoint_id, version, spec, diff) values ('r' || $1::int, 'one', $1::int, $2, '[]')`;
  await sql(release, 101, spec(ids.released));
  await sql(release, 102, '{}');
  const worker = `insert into workers (id, endpoint_id, user_id, version, wanted_reason, phase, spec)
                  values ($1, 'one', 'anna', 1, 'a test', $2, $3)`;
  await sql(worker, 'w1', 'RUNNING', spec(ids.runs));
  await sql(worker, 'w2', 'EXITED', spec(ids.ran));
  await orderModel(database.pool, ids.stored, { wantedBy: 'anna' as never, tokenSecret: null, isKept: false });
  await pin('again');
  await prune();
  expect(await names()).toEqual(['again', 'fresh', 'released', 'runs', 'stored']);
});

test('what a machine had is forgotten where none stores models any more', async () => {
  const room = { budgetBytes: 10, usedBytes: 5, stuckBytes: 1 };
  await writeMachineState(database.pool, { stored: [], fetching: [], room });
  await prune();
  expect(await findModelRoom(database.pool)).toEqual(room);
  await prune(false);
  expect(await findModelRoom(database.pool)).toBeUndefined();
  expect(await sql('select from machine_models')).toEqual([]);
});
