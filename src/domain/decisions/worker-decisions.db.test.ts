import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../../test/database.ts';
import { insertEndpoint } from '../../../test/insert-endpoint.ts';
import type { EndpointId, UserId, WorkerId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';
import { because, CAUSES, type Claimant, seenBy } from '../../scaling/because.ts';
import { ensureInstallation } from '../installation.ts';
import { leaveRuntime } from '../workers/leave-runtime.ts';
import { drainWorker, freezeWorker, orderWorkers, stopWorker, thawWorker } from '../workers/order-workers.ts';
import { markExited } from '../workers/worker-lifecycle.ts';
import { deleteDecisionsOfGone, recordDecisions } from './record-decision.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
  await database.pool.query("insert into users (id, name) values ('ann', 'ann')");
  await ensureInstallation(database.pool);
});
afterAll(() => database.drop());
beforeEach(() => database.pool.query('delete from workers; delete from scaling_decisions; delete from endpoints'));

async function endpoint(id: string): Promise<void> {
  await insertEndpoint(database.pool, { id, user_id: 'ann', workers_min: 2 });
}

async function worker(id: string, wanted: string, phase = 'RUNNING', endpointId = 'e'): Promise<WorkerId> {
  await database.pool.query(
    `insert into workers (id, endpoint_id, user_id, version, wanted, wanted_reason, phase, spec, ready_at)
     values ($1, $2, 'ann', 1, $3, 'before', $4, '{}', now())`,
    [id, endpointId, wanted, phase],
  );
  return id as WorkerId;
}

async function decisions(endpointId = 'e') {
  const { rows } = await database.pool.query(
    'select wanted, reason, inputs, actions from scaling_decisions where endpoint_id = $1 order by id',
    [endpointId],
  );
  return rows;
}

const exit = (db: Db, id: WorkerId) =>
  markExited(db, [{ id, code: 1, ...because('EXITED', { code: 1, why: null }), isLost: true }]);
const IDLE = because('IDLE', { seconds: 5, timeoutSeconds: 5 });

/** Each way in which a worker comes or leaves, the orders before it, and the decision that it stores after each. */
const PATHS: Record<
  string,
  { act: (db: Db, id: WorkerId) => Promise<unknown>; decides: Record<string, string | null> }
> = {
  drain: {
    act: (db, id) => drainWorker(db, id, IDLE),
    decides: { RUN: 'drain', FREEZE: 'drain', DRAIN: null, STOP: null },
  },
  stop: {
    act: (db, id) => stopWorker(db, id, IDLE),
    decides: { RUN: 'stop', FREEZE: 'stop', DRAIN: null, STOP: null },
  },
  freeze: {
    act: (db, id) => freezeWorker(db, id, IDLE),
    decides: { RUN: 'freeze', FREEZE: null, DRAIN: null, STOP: null },
  },
  thaw: {
    act: (db, id) => thawWorker(db, id, because('WORK_ARRIVED')),
    decides: { RUN: null, FREEZE: 'thaw', DRAIN: null, STOP: null },
  },
  exit: { act: exit, decides: { RUN: 'exit', FREEZE: 'exit', DRAIN: null, STOP: null } },
  'a new runtime': {
    act: () => leaveRuntime(database.pool, `other-${Math.random()}`),
    decides: { RUN: 'exit', FREEZE: 'exit', DRAIN: null, STOP: null },
  },
  'an order of the scaler, which stores its decision itself': {
    act: (db, id) => orderWorkers(db, 'drain', [{ id, ...IDLE }], { isRecorded: true }),
    decides: { RUN: null, FREEZE: null, DRAIN: null, STOP: null },
  },
};
const ROWS = Object.entries(PATHS).flatMap(([path, { act, decides }]) =>
  Object.entries(decides).map(([wanted, kind]) => ({ path, wanted, kind, act })),
);

test.each(ROWS)('$path of a worker with the order $wanted stores $kind, once', async ({ act, wanted, kind }) => {
  await endpoint('e');
  await leaveRuntime(database.pool, 'first');
  const id = await worker('w', wanted);
  await act(database.pool, id);
  await act(database.pool, id);
  const stored = await decisions();
  expect(stored).toHaveLength(kind === null ? 0 : 1);
  if (kind === null) return;
  const [{ actions, reason, ...decision }] = stored;
  expect(decision).toEqual({ wanted: 2, inputs: {} }); // workers.min, as there was no decision before
  expect(actions).toEqual([{ kind, workerId: 'w', cause: expect.any(String), reason }]);
  expect(CAUSES).toContain(actions[0].cause);
});

test('of two processes that end the same worker at the same time, one stores the decision', async () => {
  await endpoint('e');
  const id = await worker('w', 'RUN');
  await Promise.all(Array.from({ length: 8 }, (_, n) => (n % 2 ? exit : PATHS.drain!.act)(database.pool, id)));
  expect(await decisions()).toHaveLength(1);
});

test('workers that leave together for the same reason are one decision, with the number that was wanted before', async () => {
  await endpoint('e');
  const at = new Date();
  const before = { endpointId: 'e' as EndpointId, at, wanted: 7, reason: 'load', inputs: {}, actions: [] };
  await recordDecisions(database.pool, [before]);
  const ids = await Promise.all(['w1', 'w2', 'w3'].map((id) => worker(id, 'RUN')));
  await orderWorkers(database.pool, 'stop', [
    ...ids.slice(0, 2).map((id) => ({ id, ...IDLE })),
    { id: ids[2]!, ...because('FLASHBOOT_OFF') },
  ]);
  const [, ...stored] = await decisions();
  expect(
    stored.map(({ wanted, actions }) => [wanted, actions.map((one: { workerId: string }) => one.workerId)]),
  ).toEqual(
    expect.arrayContaining([
      [7, ['w1', 'w2']],
      [7, ['w3']],
    ]),
  );
  expect(stored).toHaveLength(2);
});

test('a worker of a deleted endpoint ends without a decision, and what a race left behind is deleted', async () => {
  const id = await worker('w', 'RUN', 'RUNNING', 'gone');
  await exit(database.pool, id);
  expect(await decisions('gone')).toEqual([]);
  await endpoint('e');
  await exit(database.pool, await worker('w2', 'RUN'));
  await database.pool.query(
    "insert into scaling_decisions (endpoint_id, at, wanted, reason, inputs, actions) select g, now(), 0, '', '{}', '[]' from unnest('{a,gone,z}'::text[]) g",
  );
  await deleteDecisionsOfGone(database.pool);
  const { rows } = await database.pool.query('select endpoint_id as id from scaling_decisions');
  expect(rows).toEqual([{ id: 'e' }]);
});

test('an endpoint that loses workers all day keeps a hundred decisions', async () => {
  await endpoint('e');
  for (let n = 0; n < 105; n++) await exit(database.pool, await worker(`w${n}`, 'RUN'));
  expect(await decisions()).toHaveLength(100);
});

test('the other endpoint is named to its own user only', () => {
  const claimant: Claimant = { kind: 'endpoint', name: 'chat', userId: 'ann' as UserId };
  const words = (viewer: string) =>
    because('PREEMPTED', { by: seenBy(claimant, viewer as UserId), held: 0, waitedSeconds: 61 }).reason;
  expect(words('ann')).toBe('its GPUs are needed for endpoint chat, which holds 0 and has waited for 61 s');
  expect(words('bob')).toBe("its GPUs are needed for another user's endpoint");
});

test('every statement that ends a worker, or orders it to leave, stores a decision', () => {
  const files = readdirSync('src', { recursive: true, encoding: 'utf8' }).filter((path) =>
    /(?<!\.test)\.ts$/.test(path),
  );
  const changing = files.filter((path) => {
    const source = readFileSync(join('src', path), 'utf8');
    return /update workers[\s\S]{0,80}set (\$\{set\}|wanted = '|phase = 'EXITED')/.test(source);
  });
  const silent = changing.filter((path) => !readFileSync(join('src', path), 'utf8').includes('storeDecisions('));
  expect(silent).toEqual(['domain/endpoints/delete-endpoint.ts']); // with its endpoint, whose decisions go too
  expect(changing.length).toBeGreaterThan(2);
});
