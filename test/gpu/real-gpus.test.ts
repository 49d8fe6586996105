/**
 * The GPUs of this machine, with the real driver: stand-ins cannot show them. Where there are none, every test is skipped.
 * At the end it prints what could not be done here, and why.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, afterEach, describe, expect, test } from 'vitest';
import { silentLogger } from '../../src/core/logger.ts';
import type { Gpu } from '../../src/runtimes/gpus/gpu.ts';
import { GpuInventory } from '../../src/runtimes/gpus/gpu-inventory.ts';
import { LocalGpus } from '../../src/runtimes/gpus/local-gpus.ts';
import { createProcessRuntime } from '../../src/runtimes/process/process-runtime.ts';
import type { Runtime } from '../../src/runtimes/runtime.ts';
import { until } from '../e2e/api.ts';
import { workloadSpec } from '../workload-spec.ts';

const MIB = 512;
const source = new LocalGpus({ shares: 1 });
const reading = await source.read();
const gpus = reading.state === 'read' ? reading.gpus : [];
const nvidia = gpus.filter(({ vendor }) => vendor === 'NVIDIA');
const folder = mkdtempSync(join(tmpdir(), 'podyard-real-gpus-'));
const program = join(folder, 'allocate');
const compiler = nvidia.length === 0 ? null : compile();
const undone: string[] = [];
const isTestable = nvidia.length > 0 && compiler === null;

if (reading.state === 'absent') undone.push('anything: this machine has no GPU that nvidia-smi or rocm-smi lists');
if (reading.state === 'read' && nvidia.length === 0) undone.push('allocation: no NVIDIA GPU answers');
if (compiler !== null) undone.push(`allocation: ${compiler}`);
if (nvidia.length === 1) undone.push('two workers on two GPUs: there is one GPU');
if (gpus.length > 0 && !gpus.some(({ uuid }) => uuid.startsWith('MIG-'))) undone.push('MIG: no GPU has slices');
if (gpus.length > 0 && !gpus.some(({ vendor }) => vendor === 'AMD')) undone.push('AMD: no GPU of theirs is listed');

/** Returns why the program cannot be compiled; null when it is. */
function compile(): string | null {
  try {
    execFileSync('cc', ['-O1', '-o', program, join(import.meta.dirname, 'allocate.c'), '-ldl']);
    return null;
  } catch (error) {
    return `no C compiler: ${(error as Error).message.split('\n')[0]}`;
  }
}

let runtime: Runtime | undefined;
afterEach(async () => {
  for (const { id } of (await runtime?.list()) ?? []) await runtime!.stop(id, 0);
  await runtime?.close();
  runtime = undefined;
});
afterAll(() => {
  rmSync(folder, { recursive: true });
  process.stdout.write(undone.map((what) => `test:gpu could not do ${what}\n`).join(''));
});

function open(): Runtime {
  runtime = createProcessRuntime({
    stateDir: join(folder, 'state'),
    imagesFiles: [resolve('workers/images.json')],
    installation: `gpu${process.pid}`,
    gpus: new GpuInventory({ source, logger: silentLogger, first: reading }),
    logger: silentLogger,
    hostEnv: { PATH: process.env.PATH ?? '', ...ld() },
  });
  return runtime;
}

/** Where the driver's library is on this machine, if the loader has to be told. */
function ld(): Record<string, string> {
  const { LD_LIBRARY_PATH } = process.env;
  return LD_LIBRARY_PATH === undefined ? {} : { LD_LIBRARY_PATH };
}

const spec = (id: string, gpu: Gpu | null) =>
  workloadSpec({
    id,
    image: 'podyard/echo-js:dev',
    args: JSON.stringify({ entrypoint: [program, String(MIB)] }),
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

/** Returns the MiB that processes of this machine have allocated on the GPU, as the driver reports them. */
function usedMib(gpu: Gpu): number {
  const args = ['-i', gpu.uuid, '--query-gpu=memory.used', '--format=csv,noheader,nounits'];
  return Number(execFileSync('nvidia-smi', args, { encoding: 'utf8' }).trim());
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

  test.skipIf(!isTestable)(
    'a checkpoint frees a worker’s GPU memory, and it continues after the restore',
    async ({ skip }) => {
      const [gpu] = nvidia;
      await open().start(spec('sleeper', gpu!));
      await firstOf('sleeper');
      const hindrance = await runtime!.gpuSleep!.checkpointHindrance();
      if (hindrance !== null) undone.push(`sleep and wake by checkpoint: ${hindrance}`);
      skip(hindrance !== null, hindrance ?? '');
      const awake = usedMib(gpu!);
      await runtime!.gpuSleep!.suspend('sleeper');
      expect(usedMib(gpu!)).toBeLessThanOrEqual(awake - MIB);
      await runtime!.gpuSleep!.resume('sleeper');
      await until('its memory is back', async () => usedMib(gpu!) >= awake - 64);
      for await (const { wrote } of saidBy('sleeper')) if (wrote !== undefined) break;
    },
  );
});
