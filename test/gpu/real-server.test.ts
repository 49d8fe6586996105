/**
 * A whole server on the GPUs of this machine, whose workers use PyTorch, transformers and huggingface_hub as they are: those of the
 * python3 in the PATH. Without a GPU or without a package, the tests that need it are skipped, and the end says so.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { freemem } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { Api, until } from '../e2e/api.ts';
import { run } from '../e2e/podyard-command.ts';
import { ServerProcess } from '../e2e/server-process.ts';
import { ModelHub } from '../model-hub.ts';
import {
  allocate,
  findPackage,
  folder,
  leaveOut,
  measured,
  nvidia,
  path,
  reportAtTheEnd,
  usedMib,
} from './real-machine.ts';

const [gpu] = nvidia;
const isTestable = gpu !== undefined && allocate !== null;
const torch = isTestable ? findPackage('torch') : null;
const transformers = torch && findPackage('transformers');
const MODEL = 'acme/tiny';

if (gpu === undefined) leaveOut('anything with a server: no NVIDIA GPU answers');
else if (torch === null) leaveOut('workers with PyTorch: the python3 in the PATH has no torch');
else if (transformers === null) leaveOut('models of workers: the python3 in the PATH has no transformers');
reportAtTheEnd();

/** What the handler in matrix/ answers. */
interface Product {
  pid: number;
  device: string;
  devices: number;
  isExact: boolean;
  teraflops: number | null;
  sum: string;
  times: Record<'process' | 'handler' | 'torch' | 'context' | 'model' | 'called' | 'answered', number>;
}

describe.skipIf(!isTestable)('a server on the GPUs of this machine', () => {
  let server: ServerProcess;
  let api: Api;
  let hub: ModelHub;
  let env: Record<string, string>;
  beforeAll(async () => {
    hub = await ModelHub.start();
    server = await ServerProcess.start({
      runtime: 'process',
      env: {
        ...(process.env.LD_LIBRARY_PATH && { LD_LIBRARY_PATH: process.env.LD_LIBRARY_PATH }),
        PATH: path,
        PODYARD_SIMULATE_GPUS: '',
        PODYARD_FROZEN_MEMORY: '80%',
        PODYARD_HUB_URL: hub.url,
        PODYARD_HUB_CACHE_GB: '1',
      },
    });
    api = new Api(server);
    env = { PODYARD_URL: server.url, PODYARD_API_KEY: server.key, HOME: mkdtempSync(join(folder, 'home-')) };
  });
  afterAll(async () => {
    await server?.dispose();
    await hub?.close();
  });
  afterEach(async ({ task }) => {
    if (task.result?.state === 'fail') process.stdout.write(`${server.stderr.slice(-4_000)}\n${await lastLines()}\n`);
    if (!server.isRunning) await server.start();
    for (const { id } of await endpoints()) await api.delete(id);
    await until('nothing is left', async () => (await server.listWorkloads()).length === 0);
  });
  /** Nobody else has this machine: what is not printed now is lost. */
  const lastLines = async () => {
    const rows = await server.query<{ text: string }>(
      "select ts || ' ' || workload_id || ' ' || line as text from log_lines order by ts desc limit 60",
    );
    return rows
      .map(({ text }) => text)
      .reverse()
      .join('\n');
  };
  const endpoints = async () =>
    (await api.call<{ endpoints: { id: string; name: string }[] }>('GET', '/v2/serverless')).endpoints;

  /** Deploys a folder beside this file, with the machine's own packages, and returns the endpoint's id. */
  async function deploy(name: string, source: string, fields: Record<string, unknown>): Promise<string> {
    const home = join(folder, name);
    cpSync(join(import.meta.dirname, source), home, {
      recursive: true,
      filter: (file) => !file.endsWith('make_model.py'),
    });
    const endpoint = { name, gpu: { pools: [gpu!.pool] }, workers: { min: 0, max: 1 }, ...fields };
    writeFileSync(join(home, 'podyard.yaml'), JSON.stringify(endpoint)); // JSON is YAML
    await run(['deploy', home, '--yes', '--no-wait'], env);
    return (await endpoints()).find((one) => one.name === name)!.id;
  }
  const matrix = (name: string, mib: number, fields: Record<string, unknown> = {}) =>
    deploy(name, 'matrix', {
      scaling: { idleTimeout: 600 },
      flashboot: 'FLASHBOOT',
      ...fields,
      env: { PYTHONPATH: torch!.folder, MODEL_MIB: String(mib) },
    });
  async function multiply(id: string, input: object = {}): Promise<{ output: Product; seconds: number }> {
    const from = Date.now();
    const job = await api.runToEnd(id, input, undefined, 120_000);
    expect(job).toMatchObject({ status: 'COMPLETED', output: { isExact: true, devices: 1 } });
    return { output: job.output as Product, seconds: (Date.now() - from) / 1000 };
  }
  const reasonsOf = (id: string) =>
    server.query<{ reason: string | null }>(
      `select phase_reason as reason from workers where endpoint_id = '${id}' and phase <> 'EXITED'`,
    );

  test('doctor, catalogue and capacity have them', async () => {
    const same = nvidia.filter(({ gpuTypeId }) => gpuTypeId === gpu!.gpuTypeId);
    const doctor = await run(
      ['doctor', '--runtime', 'process', '--data-dir', join(folder, 'doctor'), '--port', '0', '--offline'],
      { PATH: path },
    );
    expect(doctor).toContain(`${same.length} × ${gpu!.gpuTypeId} (pool ${gpu!.pool}), CUDA ${gpu!.cudaVersion}`);
    expect(doctor).toContain('all idle workers that use CUDA give their GPUs to others');
    expect(await run(['catalog', 'gpus'], env)).toContain(gpu!.gpuTypeId);
    const { gpus } = await api.call<{ gpus: { id: string }[] }>('GET', '/v2/catalog/capacity');
    expect(gpus.find(({ id }) => id === gpu!.gpuTypeId)).toMatchObject({ pool: gpu!.pool, free: same.length });
  });

  test('a pod shows how busy its GPU is, and how much of its memory is in use', async () => {
    const pod = await api.call<{ id: string }>('POST', '/v2/pods', {
      name: 'busy',
      image: 'podyard/echo-js:dev',
      gpu: { id: gpu!.gpuTypeId, count: 1 },
      args: JSON.stringify({ entrypoint: [allocate, String(Math.floor(gpu!.memoryMib / 4)), '0'] }),
    });
    const [use] = await until('its GPU is busy', async () => {
      const { runtime } = await api.call<{ runtime: { gpus: { util: number; memoryUtil: number }[] } | null }>(
        'GET',
        `/v2/pods/${pod.id}`,
      );
      return runtime?.gpus[0] && runtime.gpus[0].util > 50 && runtime.gpus;
    });
    expect(use!.memoryUtil).toBeGreaterThan(24);
    expect(use!.memoryUtil).toBeLessThan(30);
    await api.call('DELETE', `/v2/pods/${pod.id}`);
  });

  test.skipIf(torch === null)(
    'a deployed handler multiplies matrices on its GPU, from zero',
    async () => {
      const id = await matrix('product', 1024, { scaling: { idleTimeout: 1 }, flashboot: 'OFF' });
      const first = await coldStart(id);
      await until('it is at zero', async () => (await api.workers(id)).length === 0);
      const from = Date.now() / 1000;
      const second = await coldStart(id, 2);
      expect(second.output.times.process).toBeGreaterThan(from - 1);
      expect(gpu!.gpuTypeId).toContain(second.output.device);
      expect(second.output.pid).not.toBe(first.output.pid);
      measured(`the first start with torch ${torch!.version}: ${first.split}`);
      measured(`a start from zero: ${second.split}; then ${second.output.teraflops} TFLOP/s in bfloat16`);
    },
    300_000,
  );

  async function coldStart(id: string, seconds = 0): Promise<{ output: Product; split: string }> {
    const { output, seconds: whole } = await multiply(id, { seconds });
    const { times } = output;
    const parts = {
      'import torch': times.torch - times.handler,
      'CUDA context': times.context - times.torch,
      'fill the memory': times.model - times.context,
      'the handler': times.answered - times.called,
      Podyard: whole - (times.model - times.process) - (times.answered - times.called),
      Python: times.handler - times.process,
    };
    const split = Object.entries(parts).map(([what, part]) => `${what} ${part.toFixed(2)} s`);
    return { output, split: `${whole.toFixed(2)} s: ${split.join(', ')}` };
  }

  test.skipIf(torch === null)(
    'kill -9 of the server while a worker holds the GPU: it goes on, and others wait',
    async () => {
      const id = await matrix('survivor', 2048);
      const before = await multiply(id);
      const job = await api.run(id, { seconds: 8 });
      await until('it runs', async () => (await api.status(id, job.id)).status === 'IN_PROGRESS');
      const other = await api.createEndpoint({ gpu: { pools: [gpu!.pool] }, workers: { min: 1, max: 1 } });
      await server.kill();
      await server.start();
      const reason = await until('the other one says what it waits for', async () => {
        const [worker] = await reasonsOf(other);
        return worker?.reason ?? undefined;
      });
      expect(await server.listWorkloads()).toHaveLength(1);
      if (nvidia.length === 1)
        expect(reason).toBe(`no capacity: it needs 1 GPU together; ${gpu!.pool} has 0 of 1 free`);
      const ended = await api.ended(id, job.id);
      expect(ended).toMatchObject({ status: 'COMPLETED', output: { pid: before.output.pid, sum: before.output.sum } });
      await api.delete(other);
      expect((await multiply(id)).output).toMatchObject({ pid: before.output.pid, sum: before.output.sum });
    },
    240_000,
  );

  test.skipIf(torch === null)(
    'two models that fill a GPU take turns on it, also after kill -9 of the server',
    async () => {
      const room = Math.min(gpu!.memoryMib * 0.96, (freemem() / 2 ** 20) * 0.6);
      const sizes = [Math.floor(room * 0.36), Math.floor(room * 0.64)] as const;
      const [one, two] = [await matrix('one', sizes[0]), await matrix('two', sizes[1])];
      const other = usedMib(gpu!);
      const turn = async (id: string, mib: number) => {
        const { output, seconds } = await multiply(id);
        const used = usedMib(gpu!);
        expect(used - other).toBeGreaterThan(mib);
        expect(used - other).toBeLessThan(mib + 4_096); // the other one's is away
        return { output, seconds };
      };
      const cold = [await turn(one, sizes[0]), await turn(two, sizes[1])] as const;
      const woken = [await turn(one, sizes[0]), await turn(two, sizes[1])] as const;
      await server.kill();
      await server.start();
      const last = await turn(one, sizes[0]);
      for (const [i, { output }] of [...woken, last].entries()) {
        expect(output).toMatchObject({ pid: cold[i % 2]!.output.pid, sum: cold[i % 2]!.output.sum });
      }
      const show = (turns: readonly { seconds: number }[]) =>
        turns.map(({ seconds }) => `${seconds.toFixed(1)} s`).join(' and ');
      const gib = sizes.map((mib) => `${(mib / 1024).toFixed(1)} GiB`).join(' and ');
      measured(
        `two models of ${gib} that take turns: cold ${show(cold)}, woken ${show(woken)}, after kill -9 ${show([last])}`,
      );
      for (const line of await systemLines([one, two])) measured(`… ${line}`);
    },
    400_000,
  );

  /** What Podyard did with the workers, and at which second. */
  async function systemLines(ids: readonly string[]): Promise<string[]> {
    const rows = await server.query<{ line: string; name: string; at: number }>(
      `select l.line, e.name, extract(epoch from l.ts - min(l.ts) over ())::float8 as at
       from log_lines l join workers w on w.id = l.workload_id join endpoints e on e.id = w.endpoint_id
       where e.id in (${ids.map((id) => `'${id}'`).join(', ')}) and l.source = 'system' order by l.ts`,
    );
    return rows.map(({ line, name, at }) => `${at.toFixed(1)} s ${name}: ${line}`);
  }

  describe.skipIf(transformers === null)('models', () => {
    let expected: number[];
    let files: Record<string, Buffer>;
    beforeAll(() => {
      const made = join(folder, 'tiny');
      mkdirSync(made);
      const program = join(import.meta.dirname, 'models/make_model.py');
      expected = JSON.parse(execFileSync('python3', [program, made], { encoding: 'utf8' }).trim().split('\n').at(-1)!);
      files = Object.fromEntries(readdirSync(made).map((name) => [name, readFileSync(join(made, name))]));
      hub.models.set(MODEL, { files });
    }, 120_000);

    const endpoint = (name: string, more: { env?: object; models?: string[] }) =>
      deploy(name, 'models', { ...more, env: { PYTHONPATH: torch!.folder, ...more.env } });
    const ask = async (id: string, what: string) => {
      const job = await api.runToEnd(id, { do: what, model: MODEL }, undefined, 120_000);
      expect(job).toMatchObject({ status: 'COMPLETED' });
      return job.output as Record<string, unknown>;
    };
    const isClose = (logits: unknown) => {
      const difference = (logits as number[]).map((value, i) => Math.abs(value - expected[i]!));
      expect(Math.max(...difference)).toBeLessThan(1e-4);
    };

    test('huggingface_hub downloads through the hub of this machine, each byte once, and understands its refusals', async () => {
      hub.sent.clear();
      hub.asked.length = 0;
      const id = await endpoint('online', { env: { HF_HOME: join(folder, 'hf-home') } });
      const answer = await ask(id, 'download');
      const digests = Object.entries(files).map(([name, content]) => [
        name,
        createHash('sha256').update(content).digest('hex'),
      ]);
      measured(
        `huggingface_hub ${answer.hub}, hf_xet ${answer.hasXet ? 'installed' : 'not installed'}: ${JSON.stringify(answer)}`,
      );
      expect(answer).toMatchObject({
        commit: hub.commitOf(MODEL),
        files: Object.fromEntries(digests),
        isSame: true,
        atCommit: true,
        forced: Object.fromEntries(digests)['model.safetensors'],
        missingFile: expect.stringMatching(/^(Remote)?EntryNotFoundError: /),
        missingRevision: expect.stringMatching(/^RevisionNotFoundError: /),
        missingModel: expect.stringMatching(/^RepositoryNotFoundError: /),
        dataset: expect.stringContaining('the hub of this machine serves models alone'),
      });
      expect(Object.fromEntries(hub.sent)).toEqual(
        Object.fromEntries(Object.entries(files).map(([name, { length }]) => [name, length])),
      );
      expect(hub.asked.filter(({ path }) => /xet/.test(path))).toEqual([]);
      isClose((await ask(id, 'load')).logits); // asks for many files that are not there
    }, 240_000);

    test('a model of the release is loaded by transformers, offline', async () => {
      const id = await endpoint('offline', { models: [`hf:${MODEL}`], env: { HF_HUB_OFFLINE: '1' } });
      const answer = await ask(id, 'load');
      expect(answer.device).toBe('cuda:0');
      isClose(answer.logits);
      measured(`from_pretrained of a release's model, transformers ${answer.transformers}: ${answer.seconds} s`);
    }, 240_000);
  });
});
