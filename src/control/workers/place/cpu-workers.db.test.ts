import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { ControlLoops } from '../../../../test/control-loops.ts';
import type { EndpointId } from '../../../core/ids.ts';
import { change } from '../../../domain/change.ts';
import { updateEndpoint } from '../../../domain/endpoints/update-endpoint.ts';
import { SimulatedWorld } from '../../../runtimes/simulated/simulated-world.ts';

const GIB = 2 ** 30;
const soon = { timeout: 15_000, interval: 20 };
const specs: { env: Readonly<Record<string, string>>; cpus: number | null; memoryBytes: number | null }[] = [];
let control: ControlLoops;
beforeAll(async () => {
  const behave = (spec: (typeof specs)[number]) => {
    specs.push({ env: spec.env, cpus: spec.cpus, memoryBytes: spec.memoryBytes });
    return {};
  };
  control = await ControlLoops.start(new SimulatedWorld({ cpus: 8, memoryBytes: 32 * GIB, behave }));
});
afterAll(() => control.close());

const endpoint = (cpu: { id: string; vcpuCount: number }[], workers = { min: 1, max: 3 }) =>
  control.endpoint({ gpu: null, cpu, workers });
const read = (id: EndpointId) =>
  control.sql(
    'select phase, cpu, data_center_id as dc, phase_reason as reason from workers where endpoint_id = $1',
    id,
  );
const running = async (id: EndpointId) =>
  (await read(id)).filter(({ phase }) => phase === 'RUNNING').map(({ cpu }) => cpu);

test('workers of CPU endpoints get what their flavor has, until no vCPU is free; the next one says so', async () => {
  const first = await endpoint([{ id: 'cpu3c', vcpuCount: 4 }]);
  await vi.waitFor(async () => expect(await running(first)).toEqual([{ id: 'cpu3c', vcpuCount: 4, memory: 8 }]), soon);
  expect((await read(first))[0]!.dc).toBe('LOCAL-1');
  expect(specs[0]).toMatchObject({ cpus: 4, memoryBytes: 8 * GIB });
  expect(specs[0]!.env).toMatchObject({ RUNPOD_CPU_COUNT: '4', RUNPOD_MEM_GB: '8', RUNPOD_GPU_COUNT: '0' });

  // Its first choice has no room, its second one has.
  const picky = await endpoint([
    { id: 'cpu5c', vcpuCount: 8 },
    { id: 'cpu3g', vcpuCount: 2 },
  ]);
  await vi.waitFor(async () => expect(await running(picky)).toEqual([{ id: 'cpu3g', vcpuCount: 2, memory: 8 }]), soon);

  const late = await endpoint([{ id: 'cpu3c', vcpuCount: 4 }]);
  const lack = 'no capacity: it needs 4 vCPUs with 8 GB (cpu3c); free are 2 of 8 vCPUs, with 4 GB each';
  await vi.waitFor(async () => expect((await read(late))[0]).toMatchObject({ phase: 'PENDING', reason: lack }), soon);

  const actor = { userId: control.userId, keyId: 'k' as never, scopes: [{ kind: 'all' as const }] };
  await change({ pool: control.database.pool, bus: { publish: () => {} } }, actor, updateEndpoint, {
    id: first,
    update: {
      workers: { min: 0, max: 0 },
    },
  });
  await vi.waitFor(async () => expect(await running(late)).toEqual([{ id: 'cpu3c', vcpuCount: 4, memory: 8 }]), soon);
});

test('a roll-out on a full machine replaces old workers: the new one gets what the old one had', async () => {
  const [{ id }] = await control.sql('select id from endpoints where cpu @> \'[{"id": "cpu3g"}]\'');
  await control.sql('update endpoints set workers_min = 0, workers_max = 0 where id <> $1', id);
  await control.sql("update workers set wanted = 'STOP' where endpoint_id <> $1", id);
  const actor = { userId: control.userId, keyId: 'k' as never, scopes: [{ kind: 'all' as const }] };
  const context = { pool: control.database.pool, bus: { publish: () => {} } };
  await change(context, actor, updateEndpoint, { id, update: { cpu: [{ id: 'cpu3c', vcpuCount: 8 }] } });
  await vi.waitFor(
    async () => {
      const live = (await read(id)).filter(({ phase }) => phase !== 'EXITED');
      expect(live).toEqual([
        expect.objectContaining({ phase: 'RUNNING', cpu: { id: 'cpu3c', vcpuCount: 8, memory: 16 } }),
      ]);
    },
    { timeout: 40_000, interval: 50 },
  );
  const [gone] = (await read(id)).filter(({ phase }) => phase === 'EXITED');
  expect(gone).toBeDefined();
});
