import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { buildImages } from '../../src/runtimes/docker/example-images.ts';
import { median } from '../median.ts';
import { Latencies } from '../queue/latencies.ts';
import { type Program, startProgram } from '../queue/program.ts';
import { renderTable } from '../queue/table.ts';
import { describeMachine, type Machine, writeResults } from '../results.ts';
import { BareEngine, now, PROGRAM } from './bare.ts';

const IMAGE = 'podyard/echo-js:dev';
const KEY = 'bench_key_0123456789abcdef0123456789abcdef';
/** The engine cleans up after a container for a while; whoever comes next shall not pay for it. */
const SETTLE_MS = 3_000;
const ROOT = fileURLToPath(new URL('../../', import.meta.url));

interface Report {
  startedAt: string;
  machine: Machine;
  /** In ms, a value a round. */
  coldMs: number[];
  bareRunMs: number[];
  thawMs: number[];
  burstMs: number[];
  bareStartMs: number[];
}

/** How long a job waits for a worker that is not there: from the submit to the moment its handler runs. */
export async function benchColdstart(args: string[]): Promise<void> {
  const { values } = parseArgs({
    args,
    options: {
      rounds: { type: 'string', default: '5' },
      thaws: { type: 'string', default: '20' },
      burst: { type: 'string', default: '20' },
      bursts: { type: 'string', default: '2' },
    },
  });
  const [rounds, thaws, burst, bursts] = [values.rounds, values.thaws, values.burst, values.bursts].map(Number) as [
    number,
    number,
    number,
    number,
  ];
  await buildImages();
  const dataDir = await mkdtemp(join(tmpdir(), 'podyard-bench-'));
  const machine = describeMachine(dataDir);
  const report: Report = {
    startedAt: new Date().toISOString(),
    machine,
    coldMs: [],
    bareRunMs: [],
    thawMs: [],
    burstMs: [],
    bareStartMs: [],
  };
  const bare = await BareEngine.open(IMAGE);
  let podyard: Program | undefined;
  try {
    podyard = await startPodyard(dataDir, burst);
    const client = new Client(podyard.readyAt);
    for (let i = 0; i < rounds; i++) {
      report.coldMs.push(await client.coldStart());
      report.bareRunMs.push(await bare.run());
      await bare.removeContainers();
      await sleep(SETTLE_MS);
    }
    report.thawMs = await client.thaws(thaws);
    for (let i = 0; i < bursts; i++) {
      report.burstMs.push(await client.burst(burst));
      report.bareStartMs.push(await bare.startAll(burst));
      await bare.removeContainers();
      await sleep(SETTLE_MS);
    }
  } finally {
    await bare.close();
    await podyard?.stop();
    await rm(dataDir, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
  }
  process.stdout.write(render(report, burst));
  await writeResults('coldstart', report);
}

function startPodyard(dataDir: string, gpus: number): Promise<Program> {
  const flags = ['--port', '0', '--data-dir', dataDir, '--runtime', 'docker', '--simulate-gpus', `ADA_24:${gpus}`];
  return startProgram({
    command: process.execPath,
    args: [
      '--max-semi-space-size=16',
      `${ROOT}src/main.ts`,
      'serve',
      ...flags,
      '--log-level',
      'warn',
      '--stop-workers',
    ],
    env: { PODYARD_ADMIN_KEY: KEY, PODYARD_RATE_LIMIT: 'off' },
    ready: /Podyard is ready at (http:\S+)/,
  });
}

interface Job {
  id: string;
  status: string;
  workerId?: string;
  output?: { at: number };
  error?: string;
}

class Client {
  readonly #url: string;

  constructor(url: string) {
    this.#url = url;
  }

  /** From zero, with the image there. */
  async coldStart(): Promise<number> {
    const id = await this.#endpoint({});
    const [waitedMs] = await this.#submit(id, 1, 0);
    await this.#delete(id);
    return waitedMs!;
  }

  /** Each time with the one worker frozen. */
  async thaws(count: number): Promise<number[]> {
    const id = await this.#endpoint({ flashboot: 'FLASHBOOT', workers: { max: 1 } });
    await this.#submit(id, 1, 0);
    const waitedMs: number[] = [];
    for (let i = 0; i < count; i++) {
      await this.#untilFrozen(id);
      await sleep(300);
      waitedMs.push(...(await this.#submit(id, 1, 0)));
    }
    await this.#delete(id);
    return waitedMs;
  }

  /** `count` jobs at once, each with a worker of its own, from zero: until all run. */
  async burst(count: number): Promise<number> {
    const scaling = { type: 'REQUEST_COUNT', value: 1, idleTimeout: 60 };
    const id = await this.#endpoint({ workers: { max: count }, scaling });
    const waitedMs = await this.#submit(id, count, 60_000);
    await this.#delete(id);
    return Math.max(...waitedMs);
  }

  #lastWorker = '';

  /** How long each of the jobs waited. `holdMs`: for so long at most each keeps its worker, until all of them run. */
  async #submit(id: string, count: number, holdMs: number): Promise<number[]> {
    const startedAt = now();
    const input = { holdMs: count > 1 ? Math.min(holdMs, 15_000) : 0 };
    const jobs = await Promise.all(
      Array.from({ length: count }, () => this.#call<Job>('POST', `/v2/${id}/run`, { input })),
    );
    const ended = await Promise.all(jobs.map((job) => this.#ended(id, job.id)));
    this.#lastWorker = ended[0]!.workerId!;
    if (new Set(ended.map(({ workerId }) => workerId)).size !== count) throw new Error('jobs shared a worker');
    return ended.map(({ output }) => output!.at - startedAt);
  }

  async #ended(id: string, jobId: string): Promise<Job> {
    for (;;) {
      const job = await this.#call<Job>('GET', `/v2/${id}/status-sync/${jobId}?wait=30000`);
      if (job.status === 'COMPLETED') return job;
      if (job.status !== 'IN_QUEUE' && job.status !== 'IN_PROGRESS')
        throw new Error(`a job ended: ${JSON.stringify(job)}`);
    }
  }

  async #untilFrozen(id: string): Promise<void> {
    for (let i = 0; i < 600; i++) {
      const { status } = await this.#call<{ status: string }>(
        'GET',
        `/v2/serverless/${id}/workers/${this.#lastWorker}`,
      );
      if (status === 'FROZEN') return;
      await sleep(50);
    }
    throw new Error('the worker was not frozen');
  }

  async #endpoint(more: object): Promise<string> {
    const [entrypoint, ...cmd] = PROGRAM;
    const { id } = await this.#call<{ id: string }>('POST', '/v2/serverless', {
      name: 'bench',
      image: IMAGE,
      args: JSON.stringify({ entrypoint: [entrypoint], cmd }),
      gpu: { pools: ['ADA_24'] },
      workers: { max: 1 },
      scaling: { idleTimeout: 0 },
      ...more,
    });
    return id;
  }

  /** Waits until its workers are gone, so that nothing of it disturbs the next. */
  async #delete(id: string): Promise<void> {
    await this.#call('DELETE', `/v2/serverless/${id}`);
    await sleep(SETTLE_MS);
  }

  async #call<T>(method: string, path: string, body?: object): Promise<T> {
    const response = await fetch(this.#url + path, {
      method,
      headers: { authorization: `Bearer ${KEY}`, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(120_000),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path} was answered ${response.status} ${text}`);
    return (text === '' ? undefined : JSON.parse(text)) as T;
  }
}

function render(report: Report, burst: number): string {
  const { cpus, node, fsyncMs } = report.machine;
  const ms = (value: number) => value.toFixed(0);
  const compare = (title: string, own: number[], peer: number[]) => {
    const [mine, theirs] = [median(own), median(peer)];
    return [title, ms(mine), ms(theirs), (mine / theirs).toFixed(2)];
  };
  const latencies = new Latencies();
  for (const one of report.thawMs) latencies.add(one);
  const thaw = latencies.percentiles();
  return [
    `${cpus}, Node.js ${node}, fdatasync ${fsyncMs.toFixed(2)} ms; medians; from the submit until the handler runs\n`,
    renderTable([
      ['', 'Podyard, ms', 'engine alone, ms', 'ratio'],
      compare('from zero / docker run', report.coldMs, report.bareRunMs),
      compare(`burst of ${burst} from zero / ${burst} docker start`, report.burstMs, report.bareStartMs),
    ]),
    renderTable([
      ['', 'p50 ms', 'p99 ms', 'worst ms'],
      [
        `thaw, ${report.thawMs.length} times`,
        ms(thaw?.p50 ?? Number.NaN),
        ms(thaw?.p99 ?? Number.NaN),
        ms(thaw?.max ?? Number.NaN),
      ],
    ]),
  ].join('\n');
}
