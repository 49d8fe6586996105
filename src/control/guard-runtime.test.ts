import { afterEach, expect, test } from 'vitest';
import { workloadSpec } from '../../test/workload-spec.ts';
import { createSimulatedRuntime } from '../runtimes/simulated/simulated-runtime.ts';
import { guardRuntime } from './guard-runtime.ts';

const runtime = createSimulatedRuntime({ gpus: new Map(), installation: 'test' });
let leads = true;
const guarded = guardRuntime(runtime, () => leads);
afterEach(async () => {
  leads = true;
  for (const { id } of await runtime.list()) await runtime.stop(id, 0);
});

test('while this process leads, workloads are changed as without the guard', async () => {
  const spec = workloadSpec();
  await guarded.prepare(spec.image);
  await guarded.start(spec);
  expect(await guarded.list()).toMatchObject([{ id: spec.id, state: 'running' }]);
  await guarded.stop(spec.id, 0);
  expect((await runtime.list()).filter(({ state }) => state === 'running')).toEqual([]);
});

test('a process that no longer leads stops nothing that another may have adopted, and starts nothing', async () => {
  const spec = workloadSpec();
  await guarded.prepare(spec.image);
  await guarded.start(spec);
  leads = false;
  await expect(guarded.stop(spec.id, 0)).rejects.toThrow('this process does not lead');
  await expect(guarded.freeze(spec.id)).rejects.toThrow('this process does not lead');
  await expect(guarded.start(workloadSpec())).rejects.toThrow('this process does not lead');
  expect(await guarded.list()).toMatchObject([{ id: spec.id, state: 'running' }]);
});

test('networks of groups are changed only by the process that leads', async () => {
  const group = { id: 'g', size: 2, ports: [] };
  expect(await guarded.groups.ensure(group)).toMatchObject({ primary: '127.0.0.1' });
  leads = false;
  await expect(guarded.groups.ensure(group)).rejects.toThrow('this process does not lead');
  await expect(guarded.groups.remove('g')).rejects.toThrow('this process does not lead');
  expect(await guarded.groups.list()).toEqual([]);
});

test('it is the same runtime to everybody who asks what it is', () => {
  expect(guarded.name).toBe('simulated');
  expect(guarded.capabilities).toBe(runtime.capabilities);
  expect(Object.getPrototypeOf(guarded)).toBe(Object.getPrototypeOf(runtime));
});
