import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../../test/database.ts';
import { silentLogger } from '../../core/logger.ts';
import type { WorkloadDisk } from '../../domain/workers/list-disks.ts';
import { DiskWatch } from './watch-disks.ts';

const GIB = 2 ** 30;
let database: TestDatabase;
let used: Map<string, number | null | Error>;
let measured: string[];
let ended: [id: string, revision: number | null, reason: string][];
let warnings: string[];
let watch: DiskWatch;

beforeAll(async () => {
  database = await createTestDatabase();
  await database.pool.query("insert into users (id, name) values ('u', 'u')");
});
afterAll(() => database.drop());

beforeEach(async () => {
  used = new Map();
  measured = [];
  ended = [];
  warnings = [];
  await database.pool.query('delete from workers; delete from pods');
  const usedBytes = async (id: string) => {
    measured.push(id);
    const answer = used.get(id) ?? null;
    if (answer instanceof Error) throw answer;
    return answer;
  };
  const end = ({ id, revision }: WorkloadDisk, { cause, reason }: { cause: string; reason: string }) => {
    expect(cause).toBe('OVER_DISK');
    ended.push([id, revision, reason]);
  };
  const warn = (_: object, message: string) => void warnings.push(message);
  const monotonic = { now: () => 0 }; // a measurement costs nothing, so that each run measures again
  const logger = { ...silentLogger, warn };
  watch = new DiskWatch({ pool: database.pool, logger, disks: { usedBytes }, end, monotonic });
});

const addWorker = (id: string, phase = 'RUNNING', wanted = 'RUN') =>
  database.pool.query(
    `insert into workers (id, endpoint_id, user_id, version, wanted, wanted_reason, phase, spec)
     values ($1, 'e', 'u', 1, $3, '', $2, '{"diskGb": 10}')`,
    [id, phase, wanted],
  );
const addPod = (id: string, more: { phase?: string; wanted?: string; phaseRevision?: number } = {}) =>
  database.pool.query(
    `insert into pods (id, user_id, name, image, args, disk_gb, ports, env, cpu, cloud, data_center_ids, has_global_network,
       revision, wanted, phase, phase_revision, data_center_id)
     values ($1, 'u', '', 'i', '', 20, '{}', '{}', '{}', 'SECURE', '{}', false, 3, $2, $3, $4, 'LOCAL-1')`,
    [id, more.wanted ?? 'RUN', more.phase ?? 'RUNNING', more.phaseRevision ?? 3],
  );

test('a workload that wrote more than its disk and a tenth is ended, with its figures', async () => {
  for (const id of ['w1', 'w2', 'w3', 'w4']) await addWorker(id);
  await addPod('p1');
  await addPod('p2');
  used
    .set('w1', 11 * GIB)
    .set('w2', 11 * GIB + 1)
    .set('w3', 0)
    .set('w4', null); // the engine limits w4
  used.set('p1', 22 * GIB).set('p2', 40 * GIB);
  await watch.runOnce();
  expect(ended.toSorted()).toEqual([
    ['p2', 3, 'it wrote 40.0 GB, more than its disk of 20 GB and a tenth'],
    ['w2', null, 'it wrote 11.0 GB, more than its disk of 10 GB and a tenth'],
  ]);
});

test('only what runs and is to run is measured', async () => {
  await addWorker('starting', 'STARTING');
  await addWorker('frozen', 'FROZEN', 'FREEZE');
  await addWorker('stopping', 'RUNNING', 'STOP');
  await addWorker('draining', 'RUNNING', 'DRAIN');
  await addPod('exited', { phase: 'EXITED' });
  await addPod('stopped', { wanted: 'STOP' });
  await addPod('replaced', { phaseRevision: 2 });
  await addPod('error', { phase: 'ERROR' });
  await watch.runOnce();
  expect(measured).toEqual(['draining']);
});

test('one that cannot be measured keeps the others from nothing, and is logged once', async () => {
  await addWorker('w1');
  await addWorker('w2');
  used.set('w1', new Error('the engine is away')).set('w2', 50 * GIB);
  await watch.runOnce();
  await watch.runOnce();
  expect(ended.map(([id]) => id)).toEqual(['w2', 'w2']);
  expect(warnings.filter((message) => message.startsWith('measuring'))).toEqual([
    'measuring a disk failed: the engine is away',
  ]);
});

test('one that takes long to measure delays only its own next measurement', async () => {
  let now = 0;
  let finishSlow = () => {};
  const usedBytes = async (id: string) => {
    measured.push(id);
    if (id === 'slow') await new Promise<void>((resolve) => (finishSlow = resolve));
    return 0;
  };
  const disks = { usedBytes };
  watch = new DiskWatch({
    pool: database.pool,
    logger: silentLogger,
    disks,
    end: () => {},
    monotonic: { now: () => now },
  });
  await addWorker('slow');
  await addWorker('quick');
  const first = watch.runOnce();
  await expect.poll(() => measured).toEqual(expect.arrayContaining(['slow', 'quick']));
  now = 60_000;
  finishSlow(); // after a minute
  await first;
  measured = [];
  await watch.runOnce();
  expect(measured).toEqual(['quick']);
  now += 10 * 60_000; // ten times as long as it took
  const last = watch.runOnce();
  await expect.poll(() => measured).toContain('slow');
  finishSlow();
  await last;
});
