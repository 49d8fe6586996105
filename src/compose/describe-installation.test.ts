import { expect, test } from 'vitest';
import type { Runtime } from '../runtimes/runtime.ts';
import { ShortageRuntime } from '../runtimes/shortage/shortage-runtime.ts';
import { createSimulatedRuntime } from '../runtimes/simulated/simulated-runtime.ts';
import { describeInstallation } from './describe-installation.ts';

function runtimeWith(freeze: Runtime['capabilities']['freeze']): Runtime {
  const runtime = createSimulatedRuntime({ gpus: new Map(), installation: 'i' });
  return Object.assign(Object.create(runtime), { capabilities: { ...runtime.capabilities, freeze } });
}
const describe = (runtime: Runtime, notices: string[] = []) =>
  describeInstallation('i', runtime, {
    notices,
    allowInsecureProcesses: false,
    dataDir: '/',
    gpuProblem: () => 'GPU 1 does not answer',
  });

test('a notice says that frozen workers keep running, or cannot be frozen, after the runtime’s own', () => {
  expect(describe(runtimeWith('freezer'), ['One']).notices).toEqual(['One']);
  expect(describe(runtimeWith('parked'), ['One']).notices).toEqual(['One', expect.stringMatching(/are parked here/)]);
  expect(describe(runtimeWith(null)).notices).toEqual([expect.stringMatching(/cannot be frozen/)]);
});

test('GPUs are simulated behind a ShortageRuntime', () => {
  const inner = runtimeWith('freezer');
  const simulation = { gpus: [], slowPull: null };
  const pretended = new ShortageRuntime({ inner, inventory: new Map(), simulation });
  expect([describe(inner).areGpusSimulated, describe(pretended).areGpusSimulated]).toEqual([false, true]);
  expect(describe(pretended)).toMatchObject({ id: 'i', runtime: 'simulated', isIsolated: true, freeze: 'freezer' });
  expect(describe(inner).version).toMatch(/^\d+\.\d+\.\d+/);
});

test('what is wrong with the GPUs is a problem, read each time', async () => {
  expect(await describe(runtimeWith('freezer')).problems()).toContain('GPUs are out of order: GPU 1 does not answer');
});
