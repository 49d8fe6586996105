/**
 * The load generator: submitters and workers of some endpoints in one process, so that both ends of a latency use the same
 * clock. Runs for a fixed time and prints one JSON object. The modes are described in `bench/README.md`.
 */
import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import type { Address } from './http-connection.ts';
import type { Percentiles } from './latencies.ts';
import { Ledger, type Stage, Submitter, Worker, type WorkerIdentity } from './players.ts';
import { machineBusySeconds, type Usage, usageOfTree } from './process-usage.ts';

export type LoadMode = 'saturated' | 'submit' | 'drain' | 'paced' | 'runsync';

export interface LoadResult {
  mode: LoadMode;
  seconds: number;
  submittedPerSecond: number;
  takenPerSecond: number;
  finishedPerSecond: number;
  latenciesMs: Record<'submit' | 'handOver' | 'finish' | 'runsync', Percentiles | null>;
  /** Paced modes: submits that started late because all connections were busy. */
  late: number;
  errors: number;
  firstError: string | null;
  /** Jobs accepted but not finished at the end; null where the mode does not finish all it submits. */
  lost: number | null;
  takenTwice: number;
  /** CPU of the load generator itself. */
  loadCpuSeconds: number;
  loadCpuUsPerRequest: number;
  /** CPU used by other programs, as a share of all processors. Above a few percent the figures mean little. */
  othersCpuShare: number;
  /** The watched processes: CPU over the measured time, memory at the end. */
  watched: Record<string, { cpuSeconds: number; cpuUsPerJob: number; systemUsPerJob: number; rssMb: number }>;
}

interface Settings {
  mode: LoadMode;
  stage: Stage;
  workers: WorkerIdentity[];
  submitters: number;
  rate: number;
  seconds: number;
  warmUpSeconds: number;
  maxOutstanding: number;
  watch: Map<string, number>;
}

const DRAIN_SECONDS = 20;

function readSettings(): Settings {
  const { values } = parseArgs({
    options: {
      mode: { type: 'string', default: 'saturated' },
      'client-url': { type: 'string' },
      'worker-url': { type: 'string' },
      endpoints: { type: 'string' },
      key: { type: 'string' },
      workers: { type: 'string' },
      'worker-count': { type: 'string', default: '128' },
      submitters: { type: 'string', default: '128' },
      rate: { type: 'string', default: '100' },
      seconds: { type: 'string', default: '10' },
      'warm-up': { type: 'string', default: '3' },
      payload: { type: 'string', default: '1024' },
      'max-outstanding': { type: 'string', default: '1000' },
      watch: { type: 'string', multiple: true, default: [] },
    },
  });
  const workers = JSON.parse(readFileSync(values.workers!, 'utf8')) as WorkerIdentity[];
  return {
    mode: values.mode as LoadMode,
    stage: {
      client: address(values['client-url']!),
      worker: address(values['worker-url'] ?? values['client-url']!),
      endpointIds: values.endpoints!.split(','),
      key: values.key!,
      payloadBytes: Number(values.payload),
    },
    workers: workers.slice(0, Number(values['worker-count'])),
    submitters: Number(values.submitters),
    rate: Number(values.rate),
    seconds: Number(values.seconds),
    warmUpSeconds: Number(values['warm-up']),
    maxOutstanding: Number(values['max-outstanding']),
    watch: new Map(values.watch.map((entry) => [entry.split('=')[0]!, Number(entry.split('=')[1])])),
  };
}

function address(url: string): Address {
  const { hostname, port } = new URL(url);
  return { host: hostname, port: Number(port) };
}

/**
 * Each submitter sends its next job as soon as the previous one was answered. Unless the mode only submits, the queue may grow
 * by at most `maxOutstanding` jobs.
 */
class ClosedLoop {
  readonly #ledger: Ledger;
  readonly #submitters: Submitter[];
  readonly #maxOutstanding: number;
  readonly #paused: Submitter[] = [];
  #isStopped = false;

  constructor(settings: Settings, ledger: Ledger) {
    this.#ledger = ledger;
    this.#maxOutstanding = settings.mode === 'submit' ? Number.POSITIVE_INFINITY : settings.maxOutstanding;
    this.#submitters = Array.from(
      { length: settings.submitters },
      () => new Submitter(settings.stage, ledger, 'run', (submitter) => this.#next(submitter)),
    );
  }

  start(): void {
    for (const submitter of this.#submitters) this.#next(submitter);
  }

  stop(): void {
    this.#isStopped = true;
  }

  close(): void {
    for (const submitter of this.#submitters) submitter.close();
  }

  /** Call when a job ended: one more may be sent. */
  resume(): void {
    const submitter = this.#paused.pop();
    if (submitter) this.#next(submitter);
  }

  #next(submitter: Submitter): void {
    if (this.#isStopped) return;
    if (this.#ledger.outstanding >= this.#maxOutstanding) this.#paused.push(submitter);
    else submitter.submit();
  }
}

/** Sends `rate` jobs per second, evenly spaced, regardless of responses. Counts those that find no idle connection as late. */
class OpenLoop {
  late = 0;
  readonly #idle: Submitter[];
  readonly #all: Submitter[];
  readonly #settings: Settings;
  #sent = 0;
  #startedAt = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(settings: Settings, ledger: Ledger) {
    const operation = settings.mode === 'runsync' ? 'runsync' : 'run';
    const length = Math.min(32, settings.submitters);
    this.#settings = settings;
    this.#all = Array.from(
      { length },
      () => new Submitter(settings.stage, ledger, operation, (submitter) => this.#idle.push(submitter)),
    );
    this.#idle = [...this.#all];
  }

  start(): void {
    this.#startedAt = performance.now();
    this.#tick();
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  close(): void {
    for (const submitter of this.#all) submitter.close();
  }

  resume(): void {}

  #tick(): void {
    const dueAt = () => this.#startedAt + (this.#sent * 1000) / this.#settings.rate;
    while (dueAt() <= performance.now()) {
      this.#sent++;
      const submitter = this.#idle.shift();
      if (submitter) submitter.submit();
      else this.late++;
    }
    this.#timer = setTimeout(() => this.#tick(), Math.max(0, dueAt() - performance.now()));
  }
}

interface Snapshot {
  at: number;
  accepted: number;
  taken: number;
  finished: number;
  cpuSeconds: number;
  machineBusySeconds: number;
  watched: Map<string, Usage>;
}

function takeSnapshot(settings: Settings, ledger: Ledger): Snapshot {
  const cpu = process.cpuUsage();
  return {
    at: performance.now(),
    accepted: ledger.accepted,
    taken: ledger.taken,
    finished: ledger.finished,
    cpuSeconds: (cpu.user + cpu.system) / 1e6,
    machineBusySeconds: machineBusySeconds(),
    watched: new Map([...settings.watch].map(([name, pid]) => [name, usageOfTree(pid)])),
  };
}

async function play(settings: Settings): Promise<LoadResult> {
  const ledger = new Ledger();
  const isOpen = settings.mode === 'paced' || settings.mode === 'runsync';
  const loop = isOpen ? new OpenLoop(settings, ledger) : new ClosedLoop(settings, ledger);
  const workers = settings.workers.map((worker) => new Worker(settings.stage, ledger, worker, () => loop.resume()));
  if (settings.mode !== 'submit') for (const worker of workers) worker.take();
  if (isOpen) await sleep(500); // all workers wait before the first job
  if (settings.mode !== 'drain') loop.start();

  await sleep(settings.warmUpSeconds * 1000);
  const before = takeSnapshot(settings, ledger);
  ledger.isMeasuring = true;
  await sleep(settings.seconds * 1000);
  ledger.isMeasuring = false;
  const after = takeSnapshot(settings, ledger);

  loop.stop();
  const finishesAll = settings.mode !== 'submit' && settings.mode !== 'drain' && !ledger.hasSeenOthers;
  if (finishesAll) await drained(ledger);
  else await sleep(500); // responses in flight
  loop.close();
  for (const worker of workers) worker.close();
  return describe(settings, ledger, before, after, {
    late: loop instanceof OpenLoop ? loop.late : 0,
    lost: finishesAll ? ledger.countLost() : null,
  });
}

async function drained(ledger: Ledger): Promise<void> {
  const deadline = performance.now() + DRAIN_SECONDS * 1000;
  while ((ledger.ownFinished < ledger.accepted || ledger.accepted < ledger.sent) && performance.now() < deadline)
    await sleep(20);
}

function describe(
  settings: Settings,
  ledger: Ledger,
  before: Snapshot,
  after: Snapshot,
  more: { late: number; lost: number | null },
): LoadResult {
  const seconds = (after.at - before.at) / 1000;
  const submitted = after.accepted - before.accepted;
  const taken = after.taken - before.taken;
  const finished = after.finished - before.finished;
  const loadCpuSeconds = after.cpuSeconds - before.cpuSeconds;
  const jobs = settings.mode === 'submit' ? submitted : finished;
  const watched = [...after.watched].map(([name, usage]) => {
    const cpuSeconds = usage.cpuSeconds - before.watched.get(name)!.cpuSeconds;
    const systemUsPerJob = ((usage.systemSeconds - before.watched.get(name)!.systemSeconds) / jobs) * 1e6;
    const cpuUsPerJob = (cpuSeconds / jobs) * 1e6;
    return [name, { cpuSeconds, cpuUsPerJob, systemUsPerJob, rssMb: usage.rssMb }] as const;
  });
  const ourSeconds = watched.reduce((sum, [, usage]) => sum + usage.cpuSeconds, loadCpuSeconds);
  const othersSeconds = after.machineBusySeconds - before.machineBusySeconds - ourSeconds;
  const { submit, handOver, finish, runsync } = ledger.latencies;
  return {
    mode: settings.mode,
    seconds,
    submittedPerSecond: submitted / seconds,
    takenPerSecond: taken / seconds,
    finishedPerSecond: finished / seconds,
    latenciesMs: {
      submit: submit.percentiles(),
      handOver: handOver.percentiles(),
      finish: finish.percentiles(),
      runsync: runsync.percentiles(),
    },
    ...more,
    errors: ledger.errors,
    firstError: ledger.firstError ?? null,
    takenTwice: ledger.takenTwice,
    loadCpuSeconds,
    loadCpuUsPerRequest: (loadCpuSeconds / (submitted + taken + finished)) * 1e6,
    othersCpuShare: Math.max(0, othersSeconds) / (seconds * availableParallelism()),
    watched: Object.fromEntries(watched),
  };
}

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

if (import.meta.main) {
  const result = await play(readSettings());
  process.stdout.write(`${JSON.stringify(result)}\n`);
}
