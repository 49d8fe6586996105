import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { UserId, WorkerId } from '../../src/core/ids.ts';
import { silentLogger } from '../../src/core/logger.ts';
import type { PinnedModel } from '../../src/domain/models/pinned-model.ts';
import { ModelStore } from '../../src/models/store/model-store.ts';
import { createDockerRuntime } from '../../src/runtimes/docker/docker-runtime.ts';
import { buildImage } from '../../src/runtimes/docker/images/example-images.ts';
import type { WorkloadSpec } from '../../src/runtimes/runtime.ts';
import { median } from '../median.ts';
import { Missing, needPrograms } from '../needs.ts';
import { readOptions } from '../options.ts';
import { renderTable } from '../queue/table.ts';
import { describeMachine, type Machine, writeResults } from '../results.ts';
import { benchModel } from './content.ts';

const ORIGIN = fileURLToPath(new URL('origin.ts', import.meta.url));
const STARTS = 20;

interface Report {
  startedAt: string;
  machine: Machine;
  megabytes: number;
  /** To fetch one file of so many bytes, on the disk at the end, in ms. */
  fetchMs: number[];
  curlMs: number[];
  /** Bytes that the origin sent for 20 starts at once, in units of the model. */
  sentShare: number;
  /** Starts of a container, without models and with 50 files that are there. */
  bareStartMs: number[];
  modelStartMs: number[];
}

/** `node bench/main.ts models`: see bench/README.md. Prints a table, writes JSON. */
export async function benchModels(args: string[]): Promise<void> {
  const values = readOptions(args, {
    megabytes: { type: 'string', default: '1000' },
    rounds: { type: 'string', default: '5' },
  });
  needPrograms({ curl: 'curl' });
  const megabytes = Number(values.megabytes);
  const home = await mkdtemp(join(tmpdir(), 'podyard-bench-'));
  const origin = spawn(process.execPath, [ORIGIN], { stdio: ['ignore', 'pipe', 'inherit'] });
  try {
    const [port] = (await once(origin.stdout, 'data')) as [Buffer];
    const hubUrl = `http://127.0.0.1:${String(port).trim()}`;
    const report: Report = {
      startedAt: new Date().toISOString(),
      machine: describeMachine(home),
      megabytes,
      ...(await measureFetches(home, hubUrl, megabytes * 1e6, Number(values.rounds))),
      sentShare: await measureShare(home, hubUrl),
      ...(await measureStarts(home, hubUrl, 4 * Number(values.rounds))),
    };
    process.stdout.write(render(report));
    await writeResults('models', report);
  } finally {
    origin.kill();
    await rm(home, { recursive: true, force: true });
  }
}

function openStore(root: string, hubUrl: string, isShown = false): ModelStore {
  const limits = { parallel: 8, bytesPerSecond: null, budgetBytes: null };
  return new ModelStore({ root, hubUrl, ...limits, reach: null, isShown });
}

let workers = 0;
async function bring(store: ModelStore, model: PinnedModel): Promise<WorkerId> {
  workers += 1;
  const workerId = `bench-w${workers}` as WorkerId;
  const { id, source, name, commit } = model;
  const use = { id, source, name, commit, revision: null, bytes: 0, tokenSecret: null };
  const { signal } = new AbortController();
  await store.bring([{ model, use, token: null }], { userId: 'u' as UserId, workerId, onProgress: () => {}, signal });
  return workerId;
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}

/** In turns, so that both see the same machine. What curl has fetched is synced too. */
async function measureFetches(home: string, hubUrl: string, bytes: number, rounds: number) {
  const model = benchModel('org/large', [bytes]);
  const fetchMs: number[] = [];
  const curlMs: number[] = [];
  for (let i = 0; i < rounds; i++) {
    const root = join(home, `fetch-${i}`);
    fetchMs.push(await timed(() => bring(openStore(root, hubUrl), model)));
    await rm(root, { recursive: true });
    const file = join(home, 'curl');
    curlMs.push(
      await timed(async () => {
        await promisify(execFile)('curl', ['-sS', '-o', file, `${hubUrl}/${bytes}`]);
        const handle = await open(file, 'r');
        await handle.sync();
        await handle.close();
      }),
    );
    await rm(file);
  }
  return { fetchMs, curlMs };
}

async function measureShare(home: string, hubUrl: string): Promise<number> {
  const sent = async () => Number(await (await fetch(`${hubUrl}/sent`)).text());
  const before = await sent();
  const sizes = Array.from({ length: 10 }, (_, i) => 5e6 + i);
  const store = openStore(join(home, 'share'), hubUrl);
  const model = benchModel('org/shared', sizes);
  await Promise.all(Array.from({ length: STARTS }, () => bring(store, model)));
  return ((await sent()) - before) / sizes.reduce((sum, size) => sum + size, 0);
}

/** From the decision until the container runs. */
async function measureStarts(home: string, hubUrl: string, rounds: number) {
  const { image: name, status, note } = await buildImage({ name: 'podyard/echo-js', tag: 'dev' });
  if (status === 'skipped') throw new Missing(`needs a container engine: ${note}`);
  const runtime = createDockerRuntime({ installation: 'models-bench', gpus: new Map(), logger: silentLogger });
  const store = openStore(join(home, 'starts'), hubUrl, true);
  const sizes = Array.from({ length: 50 }, (_, i) => 10_000 + i);
  const model = benchModel('org/many', sizes);
  await bring(store, model);
  const image = (await runtime.prepare(name))?.reference ?? name; // as control starts it
  const bareStartMs: number[] = [];
  const modelStartMs: number[] = [];
  try {
    for (let i = 0; i < rounds; i++) {
      const bare: WorkloadSpec = { ...SPEC, image, id: `bench-bare${i}` };
      bareStartMs.push(await timed(() => runtime.start(bare)));
      await runtime.stop(bare.id, 0);
      let id = '' as WorkerId;
      const start = async () => {
        id = await bring(store, model);
        const { mounts, defaults } = await store.mountsOf(id);
        await runtime.start({ ...SPEC, image, id, mounts, imageDefaults: defaults });
      };
      modelStartMs.push(await timed(start));
      await runtime.stop(id, 0);
    }
  } finally {
    await runtime.close();
  }
  return { bareStartMs, modelStartMs };
}

const SPEC: Omit<WorkloadSpec, 'id' | 'image'> = {
  kind: 'worker',
  registry: null,
  args: JSON.stringify({ entrypoint: ['sh', '-c', 'sleep 60'], cmd: [] }),
  env: {},
  diskGb: 1,
  ports: [],
  gpu: null,
  dataCenterId: null,
  memoryBytes: null,
  cpus: null,
  mounts: [],
  isPriority: false,
};

function render(report: Report): string {
  const { megabytes, fetchMs, curlMs, sentShare, bareStartMs, modelStartMs, machine } = report;
  const speed = (ms: number[]) => `${Math.round((megabytes * 1000) / median(ms))} MB/s`;
  const ratio = median(curlMs) / median(fetchMs);
  const starts = median(modelStartMs) / median(bareStartMs);
  const rows = [
    [`fetch ${megabytes} MB, synced`, speed(fetchMs), `curl ${speed(curlMs)}`, `${ratio.toFixed(2)} x`],
    [`bytes of ${STARTS} starts at once`, `${sentShare.toFixed(2)} x`, 'the model', ''],
    [
      'start, 50 files there',
      `${median(modelStartMs).toFixed(1)} ms`,
      `bare ${median(bareStartMs).toFixed(1)} ms`,
      `${starts.toFixed(2)} x`,
    ],
  ];
  return `Models, ${machine.cpus}\n\n${renderTable([['', 'podyard', 'beside', 'ratio'], ...rows])}\n`;
}
