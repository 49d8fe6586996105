import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { median } from '../median.ts';
import { isInstalled, needPrograms } from '../needs.ts';
import { readOptions } from '../options.ts';
import { startPostgres } from '../queue/postgres.ts';
import { renderTable } from '../queue/table.ts';
import { describeMachine, type Machine, writeResults } from '../results.ts';
import {
  type Latency,
  measureBodies,
  measureLatency,
  measureRamp,
  measureSockets,
  measureThroughput,
  type Throughput,
  type Transfer,
} from './load.ts';
import { type Subject, startDirect, startPeer, startProxiedPodyard, startUpstreams } from './subjects.ts';

const PEERS = ['nginx', 'caddy', 'haproxy'] as const;
const CONNECTIONS = 64;
const PACE = 1000;
const SOCKETS = 2000;
const STEPS = [100, 500, 1000, 2000, 3000];

interface ProxyRun {
  subject: string;
  throughput: Throughput[];
  latency: Latency[];
  bodies: Transfer[];
  socketKib: number[];
  ramp: Latency[][];
}

interface ProxyReport {
  startedAt: string;
  machine: Machine;
  runs: ProxyRun[];
}

/** `node bench/main.ts proxy`: see bench/README.md. Prints a table, writes JSON. */
export async function benchProxy(args: string[]): Promise<void> {
  const values = readOptions(args, {
    rounds: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '4' },
    'warm-up': { type: 'string', default: '8' },
    parts: { type: 'string', default: 'throughput,latency,bodies,sockets,ramp' },
    subjects: { type: 'string', default: 'direct,podyard,nginx,caddy,haproxy' },
    processes: { type: 'string' },
    'cpu-prof': { type: 'string' },
  });
  needPrograms({ nginx: 'nginx-light', wrk: 'wrk' });
  const [seconds, parts] = [Number(values.seconds), new Set(values.parts.split(','))];
  const dir = await mkdtemp(join(tmpdir(), 'podyard-bench-'));
  const postgres = await startPostgres(join(dir, 'shared'));
  const upstreams = await startUpstreams(dir);
  const subjects: Subject[] = [];
  try {
    const wanted = new Set(values.subjects.split(','));
    if (wanted.has('direct')) subjects.push(startDirect(upstreams));
    const podyard = async (database: string, dataProcesses = 0): Promise<void> => {
      const databaseUrl = await postgres.createDatabase(database);
      const nodeArgs = values['cpu-prof'] ? ['--cpu-prof', `--cpu-prof-dir=${values['cpu-prof']}`] : [];
      const options = { dir: join(dir, database), databaseUrl, upstreams, nodeArgs, dataProcesses };
      subjects.push(await startProxiedPodyard(options));
    };
    if (wanted.has('podyard')) await podyard('proxy');
    if (values.processes) await podyard('processes', Number(values.processes));
    for (const name of PEERS.filter((peer) => wanted.has(peer))) {
      if (isInstalled(name)) subjects.push(await startPeer(name, dir, upstreams));
      else process.stderr.write(`${name} is not installed, skipped\n`);
    }
    const report: ProxyReport = {
      startedAt: new Date().toISOString(),
      machine: describeMachine(dir),
      runs: subjects.map(({ name }) => ({
        subject: name,
        throughput: [],
        latency: [],
        bodies: [],
        socketKib: [],
        ramp: [],
      })),
    };
    if (parts.has('throughput')) {
      for (const subject of subjects) await measureThroughput(subject, CONNECTIONS, Number(values['warm-up']));
    }
    for (let round = 0; round < Number(values.rounds); round++) await playRound(subjects, report.runs, parts, seconds);
    if (parts.has('sockets')) {
      for (const [i, run] of report.runs.entries()) run.socketKib.push(await measureSockets(subjects[i]!, SOCKETS));
    }
    process.stdout.write(renderReport(report));
    await writeResults('proxy', report);
  } finally {
    for (const subject of subjects) await subject.stop();
    await upstreams.stop();
    await postgres.stop();
    await rm(dir, { recursive: true, force: true });
  }
}

/** Runs every part on all subjects before the next, so that other load on the machine affects them alike. */
async function playRound(
  subjects: readonly Subject[],
  runs: readonly ProxyRun[],
  parts: ReadonlySet<string>,
  seconds: number,
): Promise<void> {
  const all = async (part: string, play: (subject: Subject, run: ProxyRun) => Promise<unknown>) => {
    if (parts.has(part)) for (const [i, run] of runs.entries()) await play(subjects[i]!, run);
  };
  await all('throughput', async (subject, run) => {
    await measureThroughput(subject, CONNECTIONS, 1); // wakes it up
    run.throughput.push(await measureThroughput(subject, CONNECTIONS, seconds));
  });
  await all('latency', async (subject, run) => run.latency.push(await measureLatency(subject, PACE, seconds)));
  await all('bodies', async (subject, run) => run.bodies.push(await measureBodies(subject)));
  await all('ramp', async (subject, run) => run.ramp.push(await measureRamp(subject, STEPS, seconds)));
}

function renderReport({ machine, runs }: ProxyReport): string {
  const row = (title: string, digits: number, pick: (run: ProxyRun) => number[]) => [
    title,
    ...runs.map((run) => {
      const values = pick(run).filter((value) => !Number.isNaN(value));
      return values.length === 0 ? '-' : median(values).toFixed(digits);
    }),
  ];
  const podyard = runs.find((run) => run.subject === 'podyard');
  /** Podyard's median as a ratio to each subject's. */
  const ratio = (pick: (one: Throughput) => number) => {
    const of = (run: ProxyRun) => (run.throughput.length === 0 ? Number.NaN : median(run.throughput.map(pick)));
    const ratios = runs.map((run) => (podyard ? of(podyard) / of(run) : Number.NaN));
    return ['  podyard compared with it', ...ratios.map((value) => (Number.isNaN(value) ? '-' : value.toFixed(2)))];
  };
  const rows = [
    [`${CONNECTIONS} connections, small responses`, ...runs.map((run) => run.subject)],
    row('requests/s', 0, (run) => run.throughput.map((one) => one.perSecond)),
    ratio((one) => one.perSecond),
    row('CPU, us per request', 1, (run) => run.throughput.map((one) => one.cpuUs)),
    ratio((one) => one.cpuUs),
    row('  in the kernel', 1, (run) => run.throughput.map((one) => one.kernelUs)),
    row('errors', 0, (run) => run.throughput.map((one) => one.errors)),
    row(`at ${PACE} requests/s, p50 ms`, 2, (run) => run.latency.map((one) => one.p50)),
    row('  p99 ms', 2, (run) => run.latency.map((one) => one.p99)),
    row('1 GiB down, MB/s', 0, (run) => run.bodies.map((one) => one.downMbPerSecond)),
    row('1 GiB up, MB/s', 0, (run) => run.bodies.map((one) => one.upMbPerSecond)),
    row('  memory growth, MB', 1, (run) => run.bodies.map((one) => one.memoryMb)),
    row(`${SOCKETS} idle WebSockets, KiB each`, 1, (run) => run.socketKib),
    ...STEPS.flatMap((step, i) => [
      row(`100 ms of work, ${step} concurrent, p95 ms`, 1, (run) =>
        run.ramp.map((steps) => steps[i]?.p95 ?? Number.NaN),
      ),
      row('  errors', 0, (run) => run.ramp.map((steps) => steps[i]?.errors ?? Number.NaN)),
    ]),
  ];
  return `${machine.cpus}, Node.js ${machine.node}; medians of the rounds; load and upstream run on the same machine\n${renderTable(rows)}`;
}
