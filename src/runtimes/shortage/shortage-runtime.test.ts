import { expect, test } from 'vitest';
import { workloadSpec } from '../../../test/workload-spec.ts';
import type { Simulation } from '../../domain/simulation/simulation.ts';
import type { WorkloadSpec } from '../runtime.ts';
import { createSimulatedRuntime } from '../simulated/simulated-runtime.ts';
import { ShortageRuntime } from './shortage-runtime.ts';

const spec = (id: string, more: Partial<WorkloadSpec> = {}): WorkloadSpec =>
  workloadSpec({ id, env: { RUNPOD_ENDPOINT_ID: 'e1' }, ...more });

function pretending(simulation: Partial<Simulation> = {}) {
  const inventory = new Map<string, number>();
  const inner = createSimulatedRuntime({ installation: 'i', gpus: inventory });
  const whole = { gpus: [{ pool: 'ADA_24', dataCenterId: 'EU-RO-1', total: 2 }], slowPull: null, ...simulation };
  return new ShortageRuntime({ inner, inventory, simulation: whole });
}
const stateOf = async (runtime: ShortageRuntime, id: string) => (await runtime.list()).find((one) => one.id === id);

test('capacity is the simulated one, by pool and data center, and changes at once', async () => {
  const runtime = pretending();
  expect((await runtime.capacity()).gpus).toMatchObject([{ pool: 'ADA_24', dataCenterId: 'EU-RO-1', total: 2 }]);
  const gpus = [
    { pool: 'ADA_24', dataCenterId: 'EU-RO-1', total: 0 },
    { pool: 'ADA_24', dataCenterId: 'US-KS-2', total: 3 },
  ];
  runtime.simulate({ gpus, slowPull: null });
  expect((await runtime.capacity()).gpus.map(({ dataCenterId, total }) => [dataCenterId, total])).toEqual([
    ['EU-RO-1', 0],
    ['US-KS-2', 3],
  ]);
});

test('a slow pull delays every start, and says so', async () => {
  const runtime = pretending({ slowPull: { seconds: 0.05, image: 'any:v1' } });
  for (let i = 0; i < 2; i++) {
    const lines: string[] = [];
    const begin = performance.now();
    await runtime.prepare('any:v1', { onProgress: (line) => lines.push(line) });
    expect(performance.now() - begin).toBeGreaterThanOrEqual(45);
    expect(lines[0]).toBe('Pulling image any:v1, slowly: 0.05 s (simulated)');
  }
  const lines: string[] = [];
  await runtime.prepare('other:v1', { onProgress: (line) => lines.push(line) });
  expect(lines.join()).not.toContain('simulated');
});

test('a crash or preemption ends a workload, which stays listed with the reason until it is stopped', async () => {
  const runtime = pretending();
  await runtime.prepare('any:v1');
  const reported: string[] = [];
  runtime.watch((id) => reported.push(id));
  await runtime.start(spec('a'));
  await runtime.start(spec('b'));
  await runtime.happen({ kind: 'crash', workloadId: 'a', exitCode: 3 });
  await runtime.happen({ kind: 'preempt', workloadId: 'b', graceSeconds: 1 });
  expect(await stateOf(runtime, 'a')).toMatchObject({ state: 'exited', exitCode: 3, reason: 'crashed (simulated)' });
  expect((await stateOf(runtime, 'b'))?.reason).toContain('preempted');
  expect(reported).toEqual(expect.arrayContaining(['a', 'b']));
  await runtime.stop('a', 0);
  await runtime.stop('b', 0);
  expect(await runtime.list()).toEqual([]);
});

test('the requested number of an endpoint’s next starts crash, and no other’s', async () => {
  const runtime = pretending();
  await runtime.prepare('any:v1');
  await runtime.happen({ kind: 'crashStarts', endpointId: 'e1', starts: 2 });
  for (const id of ['a', 'b', 'c']) await runtime.start(spec(id));
  await runtime.start(spec('other', { env: { RUNPOD_ENDPOINT_ID: 'e2' } }));
  const states = await Promise.all(['a', 'b', 'c', 'other'].map(async (id) => (await stateOf(runtime, id))?.state));
  expect(states).toEqual(['exited', 'exited', 'running', 'running']);
});

test('an incident of an unknown workload changes nothing', async () => {
  const runtime = pretending();
  await runtime.happen({ kind: 'crash', workloadId: 'nosuchworkload', exitCode: 1 });
  expect(await runtime.list()).toEqual([]);
});

test('machines pull ahead only where those of the real runtime do', async () => {
  expect(pretending().pullAhead).toBeUndefined();
  const inner = Object.assign(createSimulatedRuntime({ installation: 'i' }), { pullAhead: async () => true });
  const runtime = new ShortageRuntime({ inner, inventory: new Map(), simulation: { gpus: [], slowPull: null } });
  const wanted = { image: 'any:1', registry: null, gpuPools: [], dataCenterIds: [] };
  expect(await runtime.pullAhead?.(wanted, new AbortController().signal)).toBe(true);
});
