import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { BalancedEndpoint } from '../../../test/balanced-endpoint.ts';
import { newId, type WorkerId } from '../../core/ids.ts';
import { ADVISORY_LOCKS } from '../../db/advisory-locks.ts';
import type { GpusInUse } from '../catalog/gpus-in-use.ts';
import { insertWorkers } from './insert-workers.ts';
import { insertStarting, markStarting, type StartingWorker } from './mark-starting.ts';

let endpoint: BalancedEndpoint;
beforeAll(async () => {
  endpoint = await BalancedEndpoint.create();
});
afterAll(() => endpoint.close());
beforeEach(() => endpoint.sql('delete from workers'));

async function pending(change: Partial<StartingWorker> = {}): Promise<StartingWorker> {
  const id = newId<WorkerId>();
  await insertWorkers(endpoint.database.pool, [{ id, endpointId: endpoint.id, reason: 'test', pause: null }]);
  const place = { pool: 'ADA_24', gpuTypeId: 'any', dataCenterId: 'LOCAL-1' };
  return { id, ...place, gpuCount: 1, tokenHash: Buffer.from(id), keyHash: null, ...change };
}

const PLACE = { pool: 'ADA_24', gpuTypeId: 'any', dataCenterId: 'LOCAL-1' };
const note = (
  workers: StartingWorker[],
  total: number,
  heldByOthers: () => GpusInUse[] | undefined = () => undefined,
) => {
  return markStarting(endpoint.database.pool, workers, { gpus: [{ ...PLACE, total }], heldByOthers });
};
const phaseOf = async ({ id }: StartingWorker) =>
  (await endpoint.sql('select phase from workers where id = $1', id))[0].phase;

test('of workers placed concurrently, only as many start as there are GPUs; those without GPUs always do', async () => {
  const [one, two, cpu] = [await pending(), await pending(), await pending({ pool: null, gpuTypeId: null })];
  expect(await note([one, two, cpu], 1)).toEqual(new Set([one.id, cpu.id]));
  expect([await phaseOf(one), await phaseOf(two), await phaseOf(cpu)]).toEqual(['STARTING', 'PENDING', 'STARTING']);
});

test('GPUs of another type of the pool are no place for a worker', async () => {
  const [any, other] = [await pending(), await pending({ gpuTypeId: 'other' })];
  const gpus = [
    { pool: 'ADA_24', gpuTypeId: 'any', dataCenterId: 'LOCAL-1', total: 3 },
    { pool: 'ADA_24', gpuTypeId: 'other', dataCenterId: 'LOCAL-1', total: 1 },
  ];
  const late = await pending({ gpuTypeId: 'other' });
  expect(await markStarting(endpoint.database.pool, [any, other], { gpus, heldByOthers: () => undefined })).toEqual(
    new Set([any.id, other.id]),
  );
  expect(await markStarting(endpoint.database.pool, [late], { gpus, heldByOthers: () => undefined })).toEqual(
    new Set(),
  );
});

test('a worker waits for a concurrent allocation of GPUs and does not start on them', async () => {
  const [worker, rival] = [await pending(), await pending()];
  const other = await endpoint.database.pool.connect();
  try {
    await other.query('begin');
    await other.query('select pg_advisory_xact_lock($1)', [ADVISORY_LOCKS.capacity]);
    await other.query(
      `update workers set phase = 'RUNNING', gpu_pool = 'ADA_24', data_center_id = 'LOCAL-1', gpu_count = 1 where id = $1`,
      [rival.id],
    );
    const noted = note([worker], 1);
    await other.query('commit');
    expect(await noted).toEqual(new Set());
  } finally {
    other.release();
  }
  expect(await phaseOf(worker)).toBe('PENDING');
  await endpoint.sql("update workers set phase = 'EXITED' where id = $1", rival.id);
  expect(await note([worker], 1)).toEqual(new Set([worker.id]));
});

test('what the caller knows of other workers is believed where it leaves enough, and else the table', async () => {
  const [one, two, three, four] = [await pending(), await pending(), await pending(), await pending()];
  expect(await note([one], 2, () => [{ ...PLACE, count: 1 }])).toEqual(new Set([one.id]));
  expect(await note([two], 2, () => [{ ...PLACE, count: 2 }])).toEqual(new Set([two.id])); // more than they hold
  expect(await note([three], 2, () => undefined)).toEqual(new Set());
  expect(await note([four], 2, () => [{ ...PLACE, count: 1 }])).toEqual(new Set([four.id])); // the table is not asked
});

const POD = `insert into pods (id, user_id, name, image, args, disk_gb, ports, env, gpu_pool, gpu_type_id, gpu_count, cloud,
    data_center_ids, data_center_id, has_global_network)
  select 'pod', user_id, 'pod', 'i', '', 20, '{}', '{}', 'ADA_24', 'any', 1, 'SECURE', '{}', 'LOCAL-1', false
  from endpoints where id = $1`;

test('the GPUs of pods are read in any case', async () => {
  const worker = await pending();
  await endpoint.sql(POD, endpoint.id);
  expect(await note([worker], 1, () => [])).toEqual(new Set());
  expect(await note([worker], 2, () => [])).toEqual(new Set([worker.id]));
});

test('a new worker is inserted with its place, unless a pod got it or another release serves', async () => {
  await endpoint.sql('delete from pods');
  const insert = async (total: number, version = 1) => {
    const id = newId<WorkerId>();
    const place = { ...PLACE, version, tokenHash: Buffer.from(id), keyHash: Buffer.from(id) };
    const worker = { id, endpointId: endpoint.id, reason: 'test', pause: null, gpuCount: 1, place };
    const facts = { gpus: [{ ...PLACE, total }], heldByOthers: () => [] };
    const [row] = await insertStarting(endpoint.database.pool, [worker], facts);
    const keys = await endpoint.sql("select from api_keys where id = $1 and workload = 'WORKER'", id);
    return [row!.phase, row!.gpuPool, keys.length];
  };
  expect(await insert(1)).toEqual(['STARTING', 'ADA_24', 1]);
  expect(await insert(1, 2)).toEqual(['PENDING', null, 0]);
  await endpoint.sql(POD, endpoint.id);
  expect(await insert(1)).toEqual(['PENDING', null, 0]);
  expect(await insert(2)).toEqual(['STARTING', 'ADA_24', 1]);
});
