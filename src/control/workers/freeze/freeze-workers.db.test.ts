import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../../../test/database.ts';
import { insertEndpoint } from '../../../../test/insert-endpoint.ts';
import { workloadSpec } from '../../../../test/workload-spec.ts';
import type { WorkerId } from '../../../core/ids.ts';
import { silentLogger } from '../../../core/logger.ts';
import { Metrics } from '../../../core/metrics.ts';
import { Bus } from '../../../db/bus.ts';
import { freezeWorker, thawWorker } from '../../../domain/workers/order-workers.ts';
import type { Runtime } from '../../../runtimes/runtime.ts';
import { createSimulatedRuntime } from '../../../runtimes/simulated/simulated-runtime.ts';
import { SimulatedWorld } from '../../../runtimes/simulated/simulated-world.ts';
import { because } from '../../../scaling/because.ts';
import { LogCollector } from '../../workloads/collect-logs.ts';
import { CapacityLedger } from '../place/capacity-ledger.ts';
import { WorkerFreezer } from './freeze-workers.ts';

const GIB = 2 ** 30;
const BUDGET = 4 * GIB;

let database: TestDatabase;
let bus: Bus;
let runtime: Runtime;
let logs: LogCollector;
let freezer: WorkerFreezer;
/** By worker. */
const memory = new Map<string, number>();
let isScarce = false;

beforeAll(async () => {
  database = await createTestDatabase();
  bus = new Bus({ pool: database.pool, databaseUrl: database.url, processId: 'p', logger: silentLogger });
  const world = new SimulatedWorld({ behave: ({ id }) => ({ memoryBytes: memory.get(id) ?? GIB }) });
  runtime = createSimulatedRuntime({ installation: 'i', world });
  await runtime.prepare('any:v1');
  logs = new LogCollector({ pool: database.pool, bus, runtime, logger: silentLogger });
  await database.pool.query("insert into users (id, name) values ('ann', 'ann')");
  for (const flashboot of ['FLASHBOOT', 'PRIORITY_FLASHBOOT']) await addEndpoint(flashboot);
  freezer = new WorkerFreezer({
    pool: database.pool,
    bus,
    clock: { now: () => Date.now() + 1_000 }, // past every settle time
    logger: silentLogger,
    metrics: new Metrics({ maxEndpoints: 0 }),
    runtime,
    logs,
    memory: { budgetBytes: async () => BUDGET, isScarce: () => isScarce },
    capacity: new CapacityLedger({ pool: database.pool, runtime }),
  });
});
afterEach(async () => {
  vi.restoreAllMocks();
  await freezer.stop();
  for (const { id } of await runtime.list()) await runtime.stop(id, 0);
  await database.pool.query('delete from workers');
  await database.pool.query('delete from jobs');
});
afterAll(async () => {
  await logs.stop();
  await database.drop();
});

const addEndpoint = (flashboot: string) => insertEndpoint(database.pool, { id: flashboot, user_id: 'ann', flashboot });

const IDLE = because('IDLE', { seconds: 5, timeoutSeconds: 5 });

/** A ready worker; `holds` is its memory. */
async function worker(id: string, holds = GIB, endpoint = 'FLASHBOOT'): Promise<WorkerId> {
  memory.set(id, holds);
  await runtime.start(workloadSpec({ id }));
  await database.pool.query(
    `insert into workers (id, endpoint_id, user_id, version, wanted_reason, phase, spec, started_at, ready_at)
     values ($1, $2, 'ann', 1, '', 'RUNNING', '{}', now(), now())`,
    [id, endpoint],
  );
  return id as WorkerId;
}
async function frozen(id: string, holds = GIB, endpoint = 'FLASHBOOT'): Promise<WorkerId> {
  const one = await worker(id, holds, endpoint);
  await freezeWorker(database.pool, one, IDLE);
  await run();
  return one;
}
/** One run, and what follows from it. */
async function run(): Promise<void> {
  await freezer.runOnce();
  await freezer.stop(); // waits for the tasks; the loop was never started
}
async function row(id: string) {
  const result = await database.pool.query(
    'select phase, wanted, wanted_reason as reason, phase_reason as "phaseReason", memory_bytes as bytes from workers where id = $1',
    [id],
  );
  return result.rows[0];
}
/** The causes of the decisions about a worker, oldest first. */
async function causesOf(id: string): Promise<string[]> {
  const result = await database.pool.query<{ cause: string }>(
    `select a ->> 'cause' as cause from scaling_decisions d, jsonb_array_elements(d.actions) a
     where a ->> 'workerId' = $1 order by d.id`,
    [id],
  );
  return result.rows.map(({ cause }) => cause);
}
const stateOf = async (id: string) => (await runtime.list()).find((one) => one.id === id)?.state;

test('a worker is frozen with the memory it holds, and resumes when it is wanted again', async () => {
  const id = await frozen('w1', 2 * GIB);
  expect(await row(id)).toMatchObject({ phase: 'FROZEN', wanted: 'FREEZE', bytes: 2 * GIB });
  expect(await stateOf(id)).toBe('frozen');
  expect(await thawWorker(database.pool, id, because('DEMAND', 'a job waits'))).toBe(true);
  await run();
  expect(await row(id)).toMatchObject({ phase: 'RUNNING', wanted: 'RUN', reason: 'a job waits' });
  expect(await stateOf(id)).toBe('running');
  const spans = await database.pool.query(
    `select thawed_at >= thaw_wanted_at and thaw_wanted_at >= frozen_at as "isInOrder" from worker_freezes where worker_id = $1`,
    [id],
  );
  expect(spans.rows).toEqual([{ isInOrder: true }]);
});

test('a thaw that the scaler ordered waits for no read, and is not done again when the hint leads to one', async () => {
  const id = await frozen('w8');
  await freezer.runOnce(); // as its hint leads to
  await thawWorker(database.pool, id, because('DEMAND', 'a job waits'));
  const thaw = vi.spyOn(runtime, 'thaw');
  freezer.thaw(id, 'a job waits');
  expect(thaw).toHaveBeenCalledOnce();
  await run();
  expect(await row(id)).toMatchObject({ phase: 'RUNNING', wanted: 'RUN', reason: 'a job waits' });
  freezer.thaw(id, 'a job waits');
  expect(thaw).toHaveBeenCalledOnce();
});

test('a worker whose thaw ends while its row is read is not thawed again', async () => {
  const id = await frozen('w9');
  await thawWorker(database.pool, id, because('DEMAND', 'a job waits'));
  const { promise: isListed, resolve: listed } = Promise.withResolvers<void>();
  const { promise: isThawed, resolve: thawed } = Promise.withResolvers<void>();
  const thaw = vi.spyOn(runtime, 'thaw').mockImplementationOnce(() => isListed); // the first thaw lasts until the second list is read
  vi.spyOn(bus, 'publish').mockImplementation(() => thawed());
  await freezer.runOnce();
  const { query } = database.pool;
  vi.spyOn(database.pool, 'query').mockImplementationOnce((async (...args: Parameters<typeof query>) => {
    const rows = await query.apply(database.pool, args);
    listed();
    await isThawed;
    await new Promise(setImmediate); // until the task has ended
    return rows;
  }) as never);
  await run();
  expect(thaw).toHaveBeenCalledTimes(1);
  expect(await row(id)).toMatchObject({ phase: 'RUNNING', wanted: 'RUN' });
});

test('a job at the last moment cancels the freeze', async () => {
  const id = await worker('w2');
  await freezeWorker(database.pool, id, IDLE);
  await database.pool.query(
    `insert into jobs (id, endpoint_id, status, low_priority, is_sync, input, expires_at, has_own_ttl, worker_id)
     values ('j', 'FLASHBOOT', 'IN_PROGRESS', false, false, '{}', now(), false, $1)`,
    [id],
  );
  await run();
  expect(await row(id)).toMatchObject({ phase: 'RUNNING', wanted: 'RUN', reason: 'it was given work' });
  expect(await causesOf(id)).toEqual(['IDLE', 'WORK_ARRIVED']);
  expect(await stateOf(id)).toBe('running');
});

test('a failed thaw ends the worker, so that another one starts', async () => {
  const id = await frozen('w3');
  await runtime.stop(id, 0);
  await thawWorker(database.pool, id, because('DEMAND', 'a job waits'));
  let demanded = '';
  const forget = bus.subscribe('demand', (endpointId) => {
    demanded = endpointId;
  });
  await run();
  forget();
  expect(await row(id)).toMatchObject({ phase: 'EXITED' });
  expect((await row(id)).phaseReason).toContain('it could not be thawed');
  expect(await causesOf(id)).toEqual(['IDLE', 'DEMAND', 'NOT_THAWED']);
  expect(demanded).toBe('FLASHBOOT');
});

test('over the budget the oldest frozen workers are evicted, those of PRIORITY_FLASHBOOT last', async () => {
  await frozen('w4priority', 2 * GIB, 'PRIORITY_FLASHBOOT');
  await frozen('w4old');
  await frozen('w4young', 2 * GIB);
  await run();
  expect((await row('w4priority')).wanted).toBe('FREEZE');
  expect(await row('w4old')).toMatchObject({ wanted: 'STOP' });
  expect(await causesOf('w4old')).toEqual(['IDLE', 'FROZEN_MEMORY']);
  expect((await row('w4young')).wanted).toBe('FREEZE');
});

test('a worker too large for the rest of the budget is not frozen, and evicts none', async () => {
  await frozen('w5priority', 3 * GIB, 'PRIORITY_FLASHBOOT');
  const id = await frozen('w5large', 2 * GIB);
  expect(await row(id)).toMatchObject({ phase: 'RUNNING', wanted: 'DRAIN' });
  expect((await row(id)).reason).toContain('it could not be frozen: it holds 2048 MiB');
  expect(await causesOf(id)).toEqual(['IDLE', 'NOT_FROZEN']);
  expect((await row('w5priority')).wanted).toBe('FREEZE');
});

test('on a machine without memory frozen workers are evicted one at a time', async () => {
  await frozen('w6old');
  await frozen('w6young');
  isScarce = true;
  await run();
  isScarce = false;
  expect(await row('w6old')).toMatchObject({ wanted: 'STOP', reason: 'the machine runs out of memory' });
  expect(await causesOf('w6old')).toEqual(['IDLE', 'MACHINE_MEMORY']);
  expect((await row('w6young')).wanted).toBe('FREEZE');
});

test('an order to freeze is seen in the row that was read, while hints about other workers are not followed by a look', async () => {
  freezer.start();
  await freezer.runOnce();
  const reads = vi.spyOn(database.pool, 'query');
  bus.publish('worker', 'other');
  freezer.see([{ wanted: 'RUN', phase: 'RUNNING' }]);
  await new Promise(setImmediate);
  expect(reads).not.toHaveBeenCalledWith(expect.objectContaining({ name: 'workers-freezing' }));
  reads.mockRestore();
  const id = await worker('seen');
  await freezeWorker(database.pool, id, IDLE);
  freezer.see([{ wanted: 'FREEZE', phase: 'RUNNING' }]);
  await expect.poll(async () => (await row(id)).phase).toBe('FROZEN');
});
