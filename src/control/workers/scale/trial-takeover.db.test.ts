import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../../../test/database.ts';
import { insertEndpoint } from '../../../../test/insert-endpoint.ts';
import { type EndpointId, newId } from '../../../core/ids.ts';
import { silentLogger } from '../../../core/logger.ts';
import { askForTrial } from '../../../domain/releases/trial-store.ts';
import { insertWorkers } from '../../../domain/workers/insert-workers.ts';
import { EndpointScaler } from './scale-endpoints.ts';

let database: TestDatabase;
let id: EndpointId;

beforeAll(async () => {
  database = await createTestDatabase();
  await sql("insert into users (id, name) values ('user', 'user')");
});
afterAll(() => database.drop());
beforeEach(async () => {
  await sql('delete from workers');
  await sql('delete from endpoints');
  id = newId<EndpointId>();
  await insertEndpoint(database.pool, { id, user_id: 'user', version: 2 });
  for (const version of [1, 2])
    await sql(
      "insert into releases (id, endpoint_id, version, spec, diff) values ($1 || $2::int::text, $1, $2::int, '{}', '[]')",
      id,
      version,
    );
  await askForTrial(database.pool, { id, version: 2 }, null);
});

const sql = (text: string, ...values: unknown[]) => database.pool.query(text, values).then((result) => result.rows);
const workers = () => sql('select version, phase from workers order by created_at, id');
const trial = async () => (await sql('select state from release_trials'))[0].state;

/** Another process leads for one run over everything. */
async function lead(pool = database.pool): Promise<void> {
  const scaler = new EndpointScaler({
    pool,
    demandPool: pool,
    bus: { publish: () => {}, subscribe: () => () => {} } as never,
    clock: { now: Date.now },
    monotonic: { now: () => performance.now() },
    logger: silentLogger,
    frozenBudget: async () => 0,
    insert: async (worker) => (await insertWorkers(pool, [worker])).length === 1,
  });
  await scaler.runOnce();
  await scaler.stop();
}

/** A leader that dies at the statement of this name, which the database never gets. */
const dyingAt = (name: string) => {
  const dying = <T extends object>(target: T): T =>
    new Proxy(target, {
      get: (_, member) => {
        const value = Reflect.get(target, member, target);
        if (typeof value !== 'function') return value;
        return (...args: { name?: string }[]) => {
          if (member === 'query' && args[0]?.name === name) return Promise.reject(new Error('killed'));
          const result = value.apply(target, args);
          return member === 'connect' ? result.then(dying) : result;
        };
      },
    });
  return dying(database.pool);
};

test('each step may be done by another leader: none is lost, and none is done twice', async () => {
  await lead();
  await lead();
  expect(await workers()).toEqual([{ version: 2, phase: 'PENDING' }]);
  await sql("update workers set phase = 'RUNNING', ready_at = now()");
  await lead();
  await lead();
  expect(await trial()).toBe('PASSED');
  expect(await workers()).toHaveLength(1);
});

test('a leader that is killed before it has written the end of a trial is followed by one that writes it', async () => {
  await lead();
  await sql(
    "update workers set phase = 'EXITED', exited_at = now(), is_lost = true, phase_reason = 'it exited with code 1'",
  );
  await lead(dyingAt('trial-end')).catch(() => {});
  expect(await trial()).toBe('ASKED');
  expect(await workers()).toHaveLength(1);
  await lead();
  expect(await trial()).toBe('FAILED');
  await sql('update endpoints set workers_min = 1');
  await lead();
  expect((await workers()).map(({ version }) => version)).toEqual([2, 1]);
});

test('the end of a trial is not written over a newer release', async () => {
  await lead();
  await sql("update workers set phase = 'EXITED', exited_at = now(), is_lost = true");
  await sql("insert into releases (id, endpoint_id, version, spec, diff) values ('r3', $1, 3, '{}', '[]')", id);
  await sql('update endpoints set version = 3');
  await lead();
  expect(await trial()).toBe('ASKED');
  expect(await sql('select serving_version from endpoints')).toEqual([{ serving_version: null }]);
});

test('a trial that is asked for again starts at once, whatever failed before', async () => {
  await sql(
    `insert into workers (id, endpoint_id, user_id, version, wanted_reason, spec, phase, is_lost, exited_at)
     select 'w' || n, $1, 'user', 2, '', '{}', 'EXITED', true, now() from generate_series(1, 6) n`,
    id,
  );
  await sql("update release_trials set state = 'FAILED'");
  await askForTrial(database.pool, { id, version: 2 }, null);
  await lead();
  const started = await sql("select not_before from workers where phase = 'PENDING'");
  expect(started).toEqual([{ not_before: null }]);
});
