import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { GpuMachine, standInGpu } from '../../../test/stand-ins/gpu-machine.ts';
import { workloadSpec } from '../../../test/workload-spec.ts';
import { silentLogger } from '../../core/logger.ts';
import { GpuInventory } from '../gpus/gpu-inventory.ts';
import { LocalGpus } from '../gpus/local-gpus.ts';
import type { Runtime, WorkloadSpec } from '../runtime.ts';
import { createProcessRuntime } from './process-runtime.ts';

const imagesFile = resolve(import.meta.dirname, '../../../workers/images.json');
const PRINT =
  'console.log(JSON.stringify(["CUDA", "ROCR", "HIP"].map((name) => process.env[name + "_VISIBLE_DEVICES"]))); setInterval(() => {}, 1e6)';
const [one, two] = [standInGpu(1), standInGpu(2)];

let stateDir: string;
let machine: GpuMachine;
let runtime: Runtime;
beforeEach(() => {
  stateDir = mkdtempSync(join(tmpdir(), 'podyard-process-gpus-'));
  machine = new GpuMachine('nvidia-smi', { gpus: [one, two] });
  runtime = open();
});
afterEach(async () => {
  for (const { id } of await runtime.list()) await runtime.stop(id, 0);
  await runtime.close();
  rmSync(stateDir, { recursive: true });
  machine.remove();
});

function open(): Runtime {
  const source = new LocalGpus({ shares: 1, path: machine.path, procGpus: machine.procGpus, deviceFiles: [] });
  return createProcessRuntime({
    stateDir,
    imagesFiles: [imagesFile],
    installation: `g${process.pid}`,
    gpus: new GpuInventory({ source, logger: silentLogger, intervalMs: 0 }),
    logger: silentLogger,
    hostEnv: { PATH: process.env.PATH ?? '' },
  });
}

const spec = (id: string, count: number, env: WorkloadSpec['env'] = {}): WorkloadSpec =>
  workloadSpec({
    id,
    image: 'podyard/echo-js:dev',
    args: JSON.stringify({ entrypoint: ['node', '-e', PRINT] }),
    env,
    gpu: count === 0 ? null : { pool: 'ADA_24', count },
  });

async function visible(id: string): Promise<string[]> {
  const options = { follow: true, signal: AbortSignal.timeout(8_000) };
  for await (const { line } of runtime.logs(id, options)) return JSON.parse(line);
  throw new Error('it printed nothing');
}

test('a process sees its own GPUs by UUID, and none without any, whatever its environment says', async () => {
  await runtime.start(spec('one', 1, { CUDA_VISIBLE_DEVICES: '0,1' }));
  await runtime.start(spec('cpu', 0, { CUDA_VISIBLE_DEVICES: 'all' }));
  expect(await visible('one')).toEqual([one.uuid, '', '']);
  expect(await visible('cpu')).toEqual(['', '', '']);
});

test('two processes never see the same GPU, also after a restart of Podyard', async () => {
  await runtime.start(spec('one', 1));
  await runtime.close();
  runtime = open();
  expect((await runtime.capacity()).gpus).toMatchObject([{ pool: 'ADA_24', total: 2, free: 1, cudaVersion: '12.4' }]);
  await runtime.start(spec('two', 1));
  expect([(await visible('one'))[0], (await visible('two'))[0]].sort()).toEqual([one.uuid, two.uuid]);
  await expect(runtime.start(spec('three', 1))).rejects.toThrow('has 0 GPUs free');
  await runtime.stop('one', 0);
  await runtime.start(spec('three', 1));
  expect((await visible('three'))[0]).toBe(one.uuid);
});

test('a lost GPU gets no workload, and the one it had is reported; once it answers, it is free again', async () => {
  await runtime.start(spec('one', 1));
  machine.changeGpu(one.uuid, { lost: 'GPU is lost.  Reboot the system to recover this GPU' });
  const losses = async () => (await runtime.list()).map(({ loss }) => loss);
  await expect
    .poll(losses, { timeout: 8_000 })
    .toEqual([`${one.uuid} (NVIDIA GeForce RTX 4090) does not answer: GPU is lost`]);
  expect((await runtime.capacity()).gpus).toMatchObject([{ total: 1, free: 1 }]);
  await runtime.stop('one', 0);
  await expect(runtime.start(spec('both', 2))).rejects.toThrow('has 1 GPUs free, 2 needed');
  machine.changeGpu(one.uuid, { lost: '' });
  await expect.poll(async () => (await runtime.capacity()).gpus[0]!.total, { timeout: 8_000 }).toBe(2);
});
