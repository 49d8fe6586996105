/**
 * The GPUs of this machine, with the real driver: stand-ins cannot show them. Where there are none, every test is skipped.
 * At the end it prints what could not be done here, and why.
 */
import { execFileSync } from 'node:child_process';
import { freemem } from 'node:os';
import { join, resolve } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { readConfig } from '../../src/config/config.ts';
import { silentLogger } from '../../src/core/logger.ts';
import type { Gpu, GpuReading } from '../../src/runtimes/gpus/gpu.ts';
import { GpuInventory } from '../../src/runtimes/gpus/gpu-inventory.ts';
import { LocalGpus } from '../../src/runtimes/gpus/local-gpus.ts';
import { createProcessRuntime } from '../../src/runtimes/process/process-runtime.ts';
import type { Runtime } from '../../src/runtimes/runtime.ts';
import { until } from '../e2e/api.ts';
import { workloadSpec } from '../workload-spec.ts';
import {
  allocate,
  folder,
  gpus,
  leaveOut,
  measured,
  nvidia,
  path,
  reading,
  reportAtTheEnd,
  usedMib,
} from './real-machine.ts';

const MIB = 512;
const isTestable = allocate !== null;
process.env.PATH = path; // the runtime looks for cuda-checkpoint there

if (reading.state === 'absent') leaveOut('anything: this machine has no GPU that nvidia-smi or rocm-smi lists');
if (reading.state === 'read' && nvidia.length === 0) leaveOut('allocation: no NVIDIA GPU answers');
if (nvidia.length > 0 && allocate === null) leaveOut('allocation: there is no C compiler, cc');
if (nvidia.length === 1) leaveOut('two workers on two GPUs: there is one GPU');
if (gpus.length > 0 && !gpus.some(({ uuid }) => uuid.startsWith('MIG-'))) leaveOut('MIG: no GPU has slices');
if (gpus.length > 0 && !gpus.some(({ vendor }) => vendor === 'AMD')) leaveOut('AMD: no GPU of theirs is listed');
reportAtTheEnd();

let runtime: Runtime | undefined;
afterEach(async () => {
  for (const { id } of (await runtime?.list()) ?? []) await runtime!.stop(id, 0);
  await runtime?.close();
  runtime = undefined;
});

function open(shares = 1, first: GpuReading = reading): Runtime {
  runtime = createProcessRuntime({
    stateDir: join(folder, 'state'),
    imagesFiles: [resolve('workers/images.json')],
    installation: `gpu${process.pid}`,
    gpus: new GpuInventory({ source: new LocalGpus({ shares }), logger: silentLogger, first }),
    logger: silentLogger,
    hostEnv: readConfig({}, process.env).hostEnv,
  });
  return runtime;
}

const spec = (id: string, gpu: Gpu | null, mib = MIB) =>
  workloadSpec({
    id,
    image: 'podyard/echo-js:dev',
    args: JSON.stringify({ entrypoint: [allocate, String(mib)] }),
    gpu: gpu && { pool: gpu.pool, count: 1, gpuTypeId: gpu.gpuTypeId },
  });

interface Said {
  devices?: number;
  uuid?: string;
  pid?: number;
  mib?: number;
  wrote?: number;
  error?: string;
}

async function* saidBy(id: string): AsyncGenerator<Said> {
  const signal = AbortSignal.timeout(30_000);
  for await (const { line } of runtime!.logs(id, { follow: true, signal })) yield JSON.parse(line) as Said;
}

async function firstOf(id: string): Promise<Said> {
  for await (const said of saidBy(id)) return said;
  throw new Error('it printed nothing');
}

describe('on this machine', () => {
  test('GPUs are read if there are any, and never found unreadable where nvidia-smi works', ({ skip }) => {
    skip(reading.state === 'absent', 'no GPUs');
    expect(reading).toMatchObject({ state: 'read' });
    const listed = execFileSync('nvidia-smi', ['-L'], { encoding: 'utf8' });
    const uuids = [...listed.matchAll(/UUID: ((?:GPU|MIG)-[^)]+)/g)].map(([, uuid]) => uuid);
    expect(uuids).toEqual(expect.arrayContaining(nvidia.map(({ uuid }) => uuid)));
    for (const gpu of nvidia) {
      expect(gpu.cudaVersion).toMatch(/^\d+\.\d+$/);
      expect(gpu.memoryMib).toBeGreaterThan(1_000);
    }
  });

  test.skipIf(!isTestable)('a worker allocates on the GPU it was given, by UUID, and sees no other', async () => {
    const [gpu] = nvidia;
    await open().start(spec('one', gpu!));
    const said = await firstOf('one');
    expect(said).toMatchObject({ devices: 1, mib: MIB });
    expect(`${gpu!.uuid.slice(0, 4)}${said.uuid}`).toBe(gpu!.uuid);
    expect(usedMib(gpu!)).toBeGreaterThanOrEqual(MIB);
    const { gpus: usage } = (await runtime!.stats('one'))!;
    expect(usage).toHaveLength(1);
  });

  test.skipIf(!isTestable)('a worker without GPUs sees none', async () => {
    await open().start(spec('cpu', null));
    const said = await firstOf('cpu');
    expect(said.devices ?? said.error).toSatisfy((answer) => answer === 0 || /cuInit failed/.test(String(answer)));
  });

  test.skipIf(!isTestable)('as many workers start as there are GPUs, each on its own, and no more', async () => {
    const [gpu] = nvidia;
    const same = nvidia.filter(({ pool, gpuTypeId }) => pool === gpu!.pool && gpuTypeId === gpu!.gpuTypeId);
    open();
    for (const [i] of same.entries()) await runtime!.start(spec(`w${i}`, gpu!));
    const seen = await Promise.all(same.map(async (_, i) => (await firstOf(`w${i}`)).uuid));
    expect(new Set(seen).size).toBe(same.length);
    await expect(runtime!.start(spec('late', gpu!))).rejects.toThrow('has 0 GPUs free');
    expect((await runtime!.capacity()).gpus.find(({ gpuTypeId }) => gpuTypeId === gpu!.gpuTypeId)).toMatchObject({
      total: same.length,
      free: 0,
    });
  });

  test.skipIf(!isTestable)('two workers share a GPU that is given to two, and a third gets none', async () => {
    const shared = await new LocalGpus({ shares: 2 }).read();
    const gpu = shared.state === 'read' ? shared.gpus.find(({ shares }) => shares === 2) : undefined;
    open(2, shared);
    for (const id of ['one', 'two']) await runtime!.start(spec(id, gpu!));
    const seen = await Promise.all(['one', 'two'].map(async (id) => (await firstOf(id)).uuid));
    expect(seen).toEqual([gpu!.uuid.slice(4), gpu!.uuid.slice(4)]);
    expect(usedMib(gpu!)).toBeGreaterThanOrEqual(2 * MIB);
    await expect(runtime!.start(spec('three', gpu!))).rejects.toThrow('has 0 GPUs free');
  });

  test.skipIf(!isTestable)(
    'a checkpoint frees a worker’s GPU memory, and it continues after the restore',
    async ({ skip }) => {
      const [gpu] = nvidia;
      const mib = Math.floor(Math.min(gpu!.memoryMib / 2, freemem() / 2 ** 20 / 3));
      await open().start(spec('sleeper', gpu!, mib));
      await firstOf('sleeper');
      const hindrance = await runtime!.gpuSleep!.checkpointHindrance();
      if (hindrance !== null) leaveOut(`sleep and wake by checkpoint: ${hindrance}`);
      skip(hindrance !== null, hindrance ?? '');
      const awake = usedMib(gpu!);
      const suspendedIn = await timed(() => runtime!.gpuSleep!.suspend('sleeper'));
      const [asleep, held] = [usedMib(gpu!), await runtime!.memoryBytes('sleeper')];
      const resumedIn = await timed(() => runtime!.gpuSleep!.resume('sleeper'));
      const speed = (seconds: number) => `${seconds.toFixed(1)} s, ${(mib / 1024 / seconds).toFixed(1)} GiB/s`;
      measured(
        `a checkpoint of ${(mib / 1024).toFixed(1)} GiB: ${speed(suspendedIn)}; its restore: ${speed(resumedIn)}`,
      );
      measured(
        `the GPU's memory in use: ${awake} MiB awake, ${asleep} MiB asleep; the worker's then: ${held / 2 ** 20} MiB`,
      );
      expect(asleep).toBeLessThanOrEqual(awake - mib);
      expect(held).toBeGreaterThan(mib * 2 ** 20); // what --frozen-memory counts
      await until('its memory is back', async () => usedMib(gpu!) >= awake - 64);
      for await (const { wrote } of saidBy('sleeper')) if (wrote !== undefined) break;
    },
    180_000,
  );
});

async function timed(work: () => Promise<void>): Promise<number> {
  const from = performance.now();
  await work();
  return (performance.now() - from) / 1000;
}
