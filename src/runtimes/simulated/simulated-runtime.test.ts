import { expect, test } from 'vitest';
import { runtimeContract } from '../../../test/runtime-contract/contract.ts';
import type { Program } from '../../../test/runtime-contract/probes.ts';
import { workloadSpec } from '../../../test/workload-spec.ts';
import type { WorkloadSpec } from '../runtime.ts';
import { createSimulatedRuntime } from './simulated-runtime.ts';
import { type Behaviour, SimulatedWorld } from './simulated-world.ts';
import { ManualClock } from './timer-clock.ts';

const POOL = { pool: 'ADA_24', gpuTypeId: 'NVIDIA GeForce RTX 4090', dataCenterId: 'SIM-1', total: 2 };

const listed =
  (...lines: string[]): Behaviour['lines'] =>
  (n) =>
    lines[n] === undefined ? undefined : { atMs: 0, line: lines[n] };

const SCRIPTS: Record<Program, (spec: WorkloadSpec) => Partial<Behaviour>> = {
  idle: () => ({ lines: listed('ready') }),
  stubborn: () => ({ lines: listed('ready'), endAfterTermMs: null }),
  env: ({ env }) => ({ lines: listed(...`GREETING=${env.GREETING}\nLEAK=none`.split('\n')) }),
  crash: () => ({
    lines: listed('going', ...Array.from({ length: 30 }, (_, n) => `oops ${n + 1}`)),
    exitAfterMs: 60,
    exitCode: 1,
  }),
  exit7: () => ({ lines: listed('going'), exitAfterMs: 30, exitCode: 7 }),
  tick: () => ({ lines: (n) => ({ atMs: 20 * (n + 1), line: `tick ${n + 1}` }) }),
  burst: () => ({
    lines: (n) => (n > 2000 ? undefined : { atMs: Math.floor(n / 100), line: n === 2000 ? 'last' : `line ${n + 1}` }),
    exitAfterMs: 50,
  }),
  serve: () => ({ lines: listed('up') }),
  store: () => ({}),
  missing: () => ({ startFailure: 'The container could not be started: /no/such/program does not exist' }),
};

runtimeContract('simulated', async () => {
  const world = new SimulatedWorld({
    pools: [POOL],
    behave: (spec) => SCRIPTS[spec.args as Program](spec),
    pull: (image) => (image === 'known:v1' ? { ms: 5 } : { failure: `Image '${image}' was not found` }),
  });
  return {
    open: async (installation) => createSimulatedRuntime({ installation, world }),
    image: 'known:v1',
    programs: Object.fromEntries(Object.keys(SCRIPTS).map((name) => [name, name])) as Record<Program, string>,
    gpuPool: 'ADA_24',
    isReal: false,
  };
});

const spec = (id: string, gpu: WorkloadSpec['gpu'] = null): WorkloadSpec => workloadSpec({ id, gpu });

test('pull, start and run take the scripted time on the world’s clock', async () => {
  const clock = new ManualClock();
  const behave = () => ({ startMs: 2000, exitAfterMs: 10_000, exitCode: 3, reason: 'scripted' });
  const world = new SimulatedWorld({ clock, behave, pull: () => ({ ms: 60_000 }) });
  const runtime = createSimulatedRuntime({ installation: 'a', world });
  const state = async () => (await runtime.list())[0]?.state;

  let isPulled = false;
  const pulled = runtime.prepare('any:v1').then(() => {
    isPulled = true;
  });
  await clock.advance(59_999);
  expect(isPulled).toBe(false);
  await clock.advance(1);
  await pulled;

  const start = runtime.start(spec('one'));
  expect(await state()).toBe('created');
  await clock.advance(2000);
  await start;
  expect(await state()).toBe('running');
  await clock.advance(9000);
  await runtime.freeze('one');
  await clock.advance(3_600_000);
  expect(await state()).toBe('frozen');
  await runtime.thaw('one');
  await clock.advance(999);
  expect(await state()).toBe('running');
  await clock.advance(1);
  expect((await runtime.list())[0]).toMatchObject({ state: 'exited', exitCode: 3, reason: 'scripted' });
});

test('a workload’s GPUs are on one machine, and lost capacity does not stop what runs', async () => {
  const small = { ...POOL, total: 1 };
  const large = { ...POOL, total: 2, dataCenterId: 'SIM-2' };
  const world = new SimulatedWorld({ pools: [small, large] });
  const runtime = createSimulatedRuntime({ installation: 'a', world });
  await runtime.prepare('any:v1');
  await runtime.start(spec('pair', { pool: 'ADA_24', count: 2 }));
  expect((await runtime.capacity()).gpus.map(({ free }) => free)).toEqual([1, 0]);
  await expect(runtime.start(spec('second', { pool: 'ADA_24', count: 2 }))).rejects.toThrow(
    'Pool ADA_24 has 1 GPUs free, 2 needed',
  );
  world.pools = [{ ...large, total: 0 }];
  expect((await runtime.capacity()).gpus).toMatchObject([{ total: 0, free: 0 }]);
  expect(await runtime.list()).toMatchObject([{ id: 'pair', state: 'running' }]);
});
