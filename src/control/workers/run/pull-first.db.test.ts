import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { ControlLoops } from '../../../../test/control-loops.ts';
import type { EndpointId } from '../../../core/ids.ts';
import { workerStages } from '../../../domain/workers/worker-timeline.ts';
import { SimulatedWorld } from '../../../runtimes/simulated/simulated-world.ts';

const soon = { timeout: 30_000, interval: 20 };
const world = new SimulatedWorld({
  pools: [{ pool: 'ADA_24', gpuTypeId: 'NVIDIA GeForce RTX 4090', dataCenterId: 'DC-1', total: 1 }],
  pull: (image) => {
    if (image === 'none:v1') return { failure: "Image 'none:v1' does not exist" };
    return { ms: { 'slow:v1': 1_500, 'endless:v1': 600_000 }[image] ?? 0 };
  },
});
let control: ControlLoops;
beforeAll(async () => {
  control = await ControlLoops.start(world);
});
afterAll(() => control.close());
afterEach(async () => {
  await control.sql('update endpoints set workers_min = 0, workers_max = 0');
  await vi.waitFor(
    async () => expect(await control.sql("select from workers where phase <> 'EXITED'")).toEqual([]),
    soon,
  );
});

const one = { workers: { min: 1, max: 1 } };
const isRunning = (id: EndpointId) =>
  vi.waitFor(async () => expect(await control.workers(id)).toMatchObject([{ phase: 'RUNNING' }]), soon);
const rows = (id: EndpointId) =>
  control.sql(
    'select phase, phase_reason as reason, gpu_pool as pool, timeline, is_lost as "isLost" from workers where endpoint_id = $1',
    id,
  );

test('while its image is pulled a worker holds no GPU: another one runs on it meanwhile', async () => {
  const slow = await control.endpoint({ ...one, image: 'slow:v1' });
  await vi.waitFor(async () => {
    expect(await rows(slow)).toMatchObject([
      { phase: 'PENDING', pool: null, timeline: { pullFrom: expect.any(String) } },
    ]);
  }, soon);
  await vi.waitFor(async () => {
    expect((await rows(slow))[0].reason).toBe('pulling image slow:v1'); // as a queued job is told, too
  }, soon);
  const quick = await control.endpoint(one);
  await isRunning(quick);
  await vi.waitFor(async () => expect((await rows(slow))[0].timeline).toHaveProperty('pullAt'), soon);
  expect((await rows(slow))[0].reason).not.toBe('pulling image slow:v1');
  await control.sql('update endpoints set workers_min = 0, workers_max = 0 where id = $1', quick);
  await isRunning(slow);
  const [{ timeline }] = await rows(slow);
  const stages = workerStages({ createdAt: new Date(0), endedAt: null }, timeline).map(({ stage }) => stage);
  expect(stages).toEqual(['pull', 'capacity', 'create', 'start', 'ready']);
});

test('an image that cannot be pulled is a failed start that never had a place', async () => {
  const broken = await control.endpoint({ ...one, image: 'none:v1' });
  await vi.waitFor(async () => {
    const failed = (await rows(broken)).filter(({ isLost, phase }) => isLost && phase === 'EXITED');
    expect(failed.length).toBeGreaterThanOrEqual(2);
  }, soon);
  for (const { pool, timeline } of await rows(broken)) expect({ pool, timeline }).toEqual({ pool: null, timeline: {} });
});

test('a worker that is not wanted any more does not wait for its pull', async () => {
  const endless = await control.endpoint({ ...one, image: 'endless:v1' });
  await vi.waitFor(async () => expect((await rows(endless))[0]?.timeline).toHaveProperty('pullFrom'), soon);
  await control.sql('update endpoints set workers_min = 0, workers_max = 0 where id = $1', endless);
  await vi.waitFor(async () => expect(await rows(endless)).toMatchObject([{ phase: 'EXITED', isLost: false }]), soon);
});
