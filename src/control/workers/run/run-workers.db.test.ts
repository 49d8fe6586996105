import { afterEach, expect, test, vi } from 'vitest';
import { ControlLoops } from '../../../../test/control-loops.ts';
import { newId, type WorkerId } from '../../../core/ids.ts';
import type { Db } from '../../../db/pool.ts';
import { deleteEndpoint } from '../../../domain/endpoints/delete-endpoint.ts';
import { insertWorkers } from '../../../domain/workers/insert-workers.ts';
import type { Observed, Runtime } from '../../../runtimes/runtime.ts';
import { SimulatedWorld } from '../../../runtimes/simulated/simulated-world.ts';

const soon = { timeout: 15_000, interval: 20 };
const createWorld = () =>
  new SimulatedWorld({
    pools: [{ pool: 'ADA_24', gpuTypeId: 'NVIDIA GeForce RTX 4090', dataCenterId: 'DC-1', total: 8 }],
  });
let control: ControlLoops;
afterEach(() => control.close());

/** Replaces the runtime's `list`. */
function withList(list: (inner: Runtime) => Promise<Observed[]>): (inner: Runtime) => Runtime {
  return (inner) =>
    new Proxy(inner, {
      get(target, name) {
        if (name === 'list') return () => list(target);
        const value = Reflect.get(target, name, target);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
}

test('a worker starts while a slow list of the runtime is being made', async () => {
  const world = createWorld();
  const { promise: permission, resolve: permit } = Promise.withResolvers<void>();
  const wrap = withList(async (inner) => {
    await permission;
    return inner.list();
  });
  control = await ControlLoops.start(world, wrap);
  const endpoint = await control.endpoint();
  await control.submit(endpoint);
  await vi.waitFor(async () => expect(await control.workers(endpoint)).toMatchObject([{ phase: 'RUNNING' }]), soon);
  const id = (await control.workers(endpoint))[0]!.id;
  for (const workload of world.workloads.values()) workload.end(1, 'its program failed');
  permit();
  await vi.waitFor(async () => {
    expect((await control.workers(endpoint)).map((worker) => worker.id)).not.toContain(id);
  }, soon);
});

test('once the image of a release is known, its workers are inserted with place, key and decision in one transaction', async () => {
  control = await ControlLoops.start(createWorld());
  const endpoint = await control.endpoint({ workers: { min: 0, max: 2 } });
  const running = async (count: number) => {
    await control.submit(endpoint);
    const phases = Array(count).fill({ phase: 'RUNNING' });
    await vi.waitFor(async () => expect(await control.workers(endpoint)).toMatchObject(phases), soon);
  };
  await running(1);
  await running(2);
  const id = (await control.workers(endpoint))[1]!.id;
  const marks = `w.created_at = (w.timeline ->> 'capacityAt')::timestamptz as "isAtOnce", w.gpu_pool as pool`;
  const rows = await control.sql(
    `select ${marks}, k.xmin = d.xmin as "isOne", d.actions from workers w join api_keys k on k.id = w.id
     join scaling_decisions d on d.actions @> jsonb_build_array(jsonb_build_object('workerId', w.id)) where w.id = $1`,
    id,
  );
  const actions = [{ kind: 'start', workerId: id, cause: 'DEMAND', reason: expect.any(String) }];
  expect(rows).toEqual([{ isAtOnce: true, pool: 'ADA_24', isOne: true, actions }]);
});

test('a failed list changes no worker, and is retried', async () => {
  const world = createWorld();
  let failures = 0;
  let isAway = false;
  const wrap = withList((inner) => {
    if (!isAway) return inner.list();
    failures += 1;
    return Promise.reject(new Error('the engine is away'));
  });
  control = await ControlLoops.start(world, wrap);
  const endpoint = await control.endpoint({ workers: { min: 1, max: 1 } });
  await vi.waitFor(async () => expect(await control.workers(endpoint)).toMatchObject([{ phase: 'RUNNING' }]), soon);
  const id = (await control.workers(endpoint))[0]!.id;
  isAway = true;
  await vi.waitFor(() => expect(failures).toBeGreaterThan(1), soon);
  expect(await control.workers(endpoint)).toMatchObject([{ id, phase: 'RUNNING' }]);
  for (const workload of world.workloads.values()) workload.end(1, 'its program failed');
  isAway = false;
  await vi.waitFor(async () => {
    const [worker] = await control.workers(endpoint);
    expect(worker?.phase).toBe('RUNNING');
    expect(worker?.id).not.toBe(id);
  }, soon);
});

test('a decision that could not be written is made again, and delays no other endpoint', async () => {
  control = await ControlLoops.start(createWorld());
  const [stuck, other] = [await control.endpoint(), await control.endpoint()];
  await control.sql(`create function refuse() returns trigger language plpgsql as $$ begin
    if new.endpoint_id = tg_argv[0] then raise exception 'not now'; end if; return new; end $$`);
  await control.sql(`create trigger refuse before insert on workers for each row execute function refuse('${stuck}')`);
  await control.submit(stuck);
  await vi.waitFor(async () => {
    await control.submit(other);
    expect(await control.workers(other)).toMatchObject([{ phase: 'RUNNING' }]);
  }, soon);
  expect(await control.workers(stuck)).toEqual([]);
  await control.sql('drop trigger refuse on workers');
  await vi.waitFor(async () => expect(await control.workers(stuck)).toMatchObject([{ phase: 'RUNNING' }]), soon);
});

test('workers that are stopped on purpose lead to no lists of the runtime', async () => {
  let lists = 0;
  const wrap = withList((inner) => {
    lists += 1;
    return inner.list();
  });
  control = await ControlLoops.start(createWorld(), wrap);
  const running = [];
  for (let i = 0; i < 8; i++) running.push(await control.endpoint({ workers: { min: 1, max: 1 } }));
  for (const endpoint of running) {
    await vi.waitFor(async () => expect(await control.workers(endpoint)).toMatchObject([{ phase: 'RUNNING' }]), soon);
  }
  const before = { lists, at: performance.now() };
  for (const endpoint of running) {
    await control.sql('update endpoints set workers_min = 0, workers_max = 0 where id = $1', endpoint);
    control.notify(endpoint);
    await vi.waitFor(async () => expect(await control.workers(endpoint)).toEqual([]), soon);
  }
  const ticks = (performance.now() - before.at) / 1_000;
  expect(lists - before.lists).toBeLessThan(Math.max(4, 1 + ticks));
});

test.each([
  ['a deletion', 'the new worker', true],
  ['a new worker', 'the deletion', false],
])(
  'of %s and %s that meet, the later one waits, and no worker outlives its endpoint',
  async (_, __, isDeletedFirst) => {
    control = await ControlLoops.start(createWorld());
    const endpointId = await control.endpoint({ workers: { min: 0, max: 0 } });
    const id = newId<WorkerId>();
    const insert = (db: Db) => insertWorkers(db, [{ id, endpointId, reason: 'test', pause: null }]);
    const remove = () => control.change(deleteEndpoint, { id: endpointId });
    const first = await control.database.pool.connect();
    await first.query('begin');
    let second: Promise<unknown>;
    if (isDeletedFirst) {
      await first.query('select from endpoints where id = $1 for update', [endpointId]);
      second = insert(control.database.pool);
      await first.query('delete from endpoints where id = $1', [endpointId]);
    } else {
      await insert(first);
      second = remove();
    }
    const isWaiting = "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
    await vi.waitFor(async () => expect((await control.sql(isWaiting)).length).toBe(1), soon);
    await first.query('commit');
    first.release();
    await second;
    const [worker] = await control.sql('select wanted from workers where id = $1', id);
    expect(worker?.wanted).toBe(isDeletedFirst ? undefined : 'STOP');
  },
);

test('a worker that an earlier version left without its endpoint ends', async () => {
  control = await ControlLoops.start(createWorld());
  const endpointId = await control.endpoint({ workers: { min: 1, max: 1 } });
  await vi.waitFor(async () => {
    expect(await control.workers(endpointId)).toMatchObject([{ phase: 'RUNNING' }]);
  }, soon);
  await control.sql('delete from endpoints where id = $1', endpointId);
  await vi.waitFor(async () => expect(await control.workers(endpointId)).toEqual([]), soon);
});
