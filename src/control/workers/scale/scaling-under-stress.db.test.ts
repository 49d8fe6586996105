import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { ControlLoops } from '../../../../test/control-loops.ts';
import { fairMs } from '../../../../test/fair-ms.ts';
import { SimulatedWorld } from '../../../runtimes/simulated/simulated-world.ts';

vi.setConfig({ testTimeout: 240_000 });

const place = (dataCenterId: string, total: number) => ({
  pool: 'ADA_24',
  gpuTypeId: 'NVIDIA GeForce RTX 4090',
  dataCenterId,
  total,
});
const soon = { timeout: 60_000, interval: 20 };

describe('in one data center', () => {
  const world = new SimulatedWorld({
    pools: [place('DC-1', 2_000)],
    behave: ({ image }) => (image.startsWith('broken@') ? { exitAfterMs: 5, exitCode: 1 } : {}),
  });
  let control: ControlLoops;
  beforeAll(async () => {
    control = await ControlLoops.start(world);
  });
  afterAll(() => control.close());

  test('200 workers in crash loops are started ever more rarely, and do not delay a healthy one', async () => {
    const broken = [];
    for (let i = 0; i < 200; i++) {
      broken.push(await control.endpoint({ image: 'broken:v1', workers: { min: 1, max: 1 } }));
    }
    await vi.waitFor(async () => {
      const [{ count }] = await control.sql("select count(*) from workers where phase = 'EXITED' and is_lost");
      expect(count).toBeGreaterThanOrEqual(3 * broken.length);
    }, soon);
    const took: number[] = [];
    for (let i = 0; i < 10; i++) {
      const healthy = await control.endpoint();
      const tookMs = await fairMs(async () => {
        await control.submit(healthy);
        await vi.waitFor(
          async () => expect(await control.workers(healthy)).toMatchObject([{ phase: 'RUNNING' }]),
          soon,
        );
      });
      took.push(tookMs);
    }
    expect(Math.max(...took)).toBeLessThan(5_000); // bounds a hang; bench/scale measures it
    const waiting = await control.workers(broken[0]!);
    expect(waiting.length).toBeLessThanOrEqual(1);
    const [{ most }] = await control.sql(
      `select max(failed) as most from (select count(*) as failed from workers where is_lost group by endpoint_id) e`,
    );
    expect(most).toBeLessThan(12); // 2 at once, then after 1, 2, 4, 8, 16 … seconds
    await control.sql('update endpoints set workers_min = 0, workers_max = 0');
  });

  test('a start that finds its place taken is not a failed start: the worker waits, with a reason, and starts once there is capacity', async () => {
    world.pools = [place('DC-1', 1)];
    const endpoint = await control.endpoint({ workers: { min: 1, max: 1 } });
    await vi.waitFor(async () => expect(await control.workers(endpoint)).toMatchObject([{ phase: 'RUNNING' }]), soon);
    await control.sql('update endpoints set workers_min = 0, workers_max = 0 where id = $1', endpoint);
    await vi.waitFor(async () => expect(await control.workers(endpoint)).toEqual([]), soon);
    await control.readCapacity();
    world.pools = []; // the ledger still counts one
    const late = await control.endpoint({ workers: { min: 1, max: 1 } });
    const missing = 'no capacity: Pool ADA_24 has 0 GPUs free, 1 needed';
    await vi.waitFor(async () => {
      const lines = await control.sql(
        'select line from log_lines l join workers w on w.id = l.workload_id where w.endpoint_id = $1',
        late,
      );
      expect(lines).toContainEqual({ line: `waits: ${missing}` });
      expect(await control.workers(late)).toMatchObject([{ phase: 'PENDING' }]);
    }, soon);
    const id = (await control.workers(late))[0]!.id;
    world.pools = [place('DC-1', 2_000)];
    await vi.waitFor(async () => expect(await control.workers(late)).toMatchObject([{ id, phase: 'RUNNING' }]), soon);
    await control.sql('update endpoints set workers_min = 0, workers_max = 0');
  });

  test('when capacity vanishes its workers are replaced once it is back, and say what is missing until then', async () => {
    world.pools = [place('DC-1', 2_000)];
    const endpoint = await control.endpoint({ workers: { min: 2, max: 2 } });
    await vi.waitFor(async () => {
      expect((await control.workers(endpoint)).map(({ phase }) => phase)).toEqual(['RUNNING', 'RUNNING']);
    }, soon);
    const before = (await control.workers(endpoint)).map(({ id }) => id);
    await control.sql('update workers set ready_at = now() where endpoint_id = $1', endpoint);
    world.pools = [place('DC-1', 0)];
    for (const workload of world.workloads.values()) workload.end(137, 'its machine is gone');
    await vi.waitFor(async () => {
      const now = await control.workers(endpoint);
      expect(now.map(({ phase }) => phase)).toEqual(['PENDING', 'PENDING']);
      for (const { reason } of now)
        expect(reason).toContain('no capacity: it needs 1 GPU together; ADA_24 has 0 of 0 free');
    }, soon);
    world.pools = [place('DC-1', 2)];
    await vi.waitFor(async () => {
      const now = await control.workers(endpoint);
      expect(now.map(({ phase }) => phase)).toEqual(['RUNNING', 'RUNNING']);
      expect(now.filter(({ id }) => before.includes(id))).toEqual([]);
    }, soon);
  });
});

describe('in two data centers', () => {
  const world = new SimulatedWorld({ pools: [place('EU-RO-1', 2), place('US-KS-2', 2)] });
  let control: ControlLoops;
  beforeAll(async () => {
    control = await ControlLoops.start(world);
  });
  afterAll(() => control.close());

  const volumeIn = async (dataCenterId: string): Promise<string> => {
    const id = `vol${dataCenterId.toLowerCase().replaceAll('-', '')}`;
    await control.sql(
      `insert into network_volumes (id, user_id, name, size_gb, data_center_id, type) values ($1, $2, $1, 10, $3, 'STANDARD')
       on conflict do nothing`,
      id,
      control.userId,
      dataCenterId,
    );
    return id;
  };

  test('a worker is placed where its endpoint prefers, and waits when that is full', async () => {
    const endpoint = await control.endpoint({ dataCenterIds: ['US-KS-2'], workers: { min: 3, max: 3 } });
    await vi.waitFor(async () => {
      const workers = await control.workers(endpoint);
      expect(workers.map(({ phase }) => phase).sort()).toEqual(['PENDING', 'RUNNING', 'RUNNING']);
      const [waiting] = workers.filter(({ phase }) => phase === 'PENDING');
      expect(waiting!.reason).toBe('no capacity: it needs 1 GPU together in US-KS-2; ADA_24 has 0 of 2 free');
      expect(workers.filter(({ dataCenterId }) => dataCenterId === 'US-KS-2')).toHaveLength(2);
    }, soon);
  });

  test('a worker with a network volume is placed in its data center', async () => {
    const endpoint = await control.endpoint({
      networkVolumeIds: [await volumeIn('EU-RO-1')],
      workers: { min: 1, max: 1 },
    });
    await vi.waitFor(async () => {
      const [worker] = await control.workers(endpoint);
      expect([worker?.phase, worker?.dataCenterId ?? worker?.reason]).not.toContain('PENDING');
      const rows = await control.sql('select data_center_id from workers where endpoint_id = $1', endpoint);
      expect(rows.every(({ data_center_id }) => data_center_id === 'EU-RO-1')).toBe(true);
    }, soon);
  });

  test('a volume where the endpoint may not run leaves no place, and the worker says so', async () => {
    const endpoint = await control.endpoint({
      networkVolumeIds: [await volumeIn('EU-RO-1')],
      dataCenterIds: ['US-KS-2'],
      workers: { min: 1, max: 1 },
    });
    await vi.waitFor(async () => {
      expect(await control.workers(endpoint)).toMatchObject([
        { phase: 'PENDING', reason: 'its network volumes are in EU-RO-1, where the endpoint may not run' },
      ]);
    }, soon);
  });
});
