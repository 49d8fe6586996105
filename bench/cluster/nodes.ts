import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { findProgram } from '../../test/kubernetes/own-cluster.ts';
import { startPostgres } from '../queue/postgres.ts';
import { usageOfTree } from '../queue/process-usage.ts';
import { type Program, startProgram } from '../queue/program.ts';
import { renderTable } from '../queue/table.ts';
import { describeMachine, type Machine, writeResults } from '../results.ts';
import { Fleet, WORKERS_PER_KEEPER } from '../scale/fleet.ts';
import { Pace, watch } from '../scale/pace.ts';
import { BenchCluster } from './bench-cluster.ts';
import type { ClusterOptions } from './options.ts';

const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
const INSIDE = new URL('inside-control.ts', import.meta.url).href;
const GPUS_A_NODE = 8;
const SETTLE_S = 10;
const FILL_STALLS_MS = 180_000;

type Counts = Record<string, number>;

interface Phase {
  seconds: number;
  /** Share of one processor, in percent. */
  controlCpu: number;
  apiServerCpu: number;
  rssMb: number;
  /** Workers started and ended. */
  started: number;
  ended: number;
  /** By kind of request. */
  requests: Counts;
}

interface NodesReport {
  startedAt: string;
  machine: Machine;
  nodes: number;
  pods: number;
  fillSeconds: number;
  idle: Phase;
  changing: Phase;
}

/** Measures control alone on a cluster of fake nodes: at rest, and while one pod in a hundred changes each second. */
export async function benchNodes(options: ClusterOptions): Promise<void> {
  const nodes = Number(options.nodes ?? 1000);
  const pods = Number(options.pods ?? 5 * nodes);
  const seconds = Number(options.seconds ?? 30);
  const changes = Number(options.changes ?? pods / 100);
  if (options['cpu-prof']) await mkdir(options['cpu-prof'], { recursive: true });
  const tempDir = await mkdtemp(join(tmpdir(), 'podyard-bench-'));
  const postgres = await startPostgres(join(tempDir, 'shared'));
  const cluster = await BenchCluster.open();
  let control: Program | undefined;
  let fleet: Fleet | undefined;
  try {
    const place = await cluster.addNodes(nodes, GPUS_A_NODE);
    const databaseUrl = await postgres.createDatabase('fleet');
    control = await startControl({
      tempDir,
      databaseUrl,
      env: { ...cluster.env, ...place },
      profileDir: options['cpu-prof'],
    });
    fleet = await Fleet.create(databaseUrl, { endpoints: pods / 2, working: pods / 2 });
    const setup = { control, fleet, apiServer: await findProgram('kube-apiserver'), tempDir };
    const fillSeconds = await fill(fleet);
    await sleep(SETTLE_S * 1000);
    const idle = await measure(setup, seconds, () => sleep(1_000));
    await fleet.analyze();
    const pace = new Pace(fleet, changes);
    for (let i = 0; i < SETTLE_S * 4; i++) await pace.quarter();
    const changing = await measure(setup, seconds, () => pace.quarter());
    const startedAt = new Date().toISOString();
    const report: NodesReport = {
      startedAt,
      machine: describeMachine(tempDir),
      nodes,
      pods,
      fillSeconds,
      idle,
      changing,
    };
    process.stdout.write(render(report));
    await writeResults('cluster-nodes', report);
  } catch (error) {
    process.stderr.write(`${control?.output() ?? ''}\n`);
    throw error;
  } finally {
    await fleet?.close();
    await control?.stop();
    await postgres.stop();
    await cluster.close();
    await rm(tempDir, { recursive: true, force: true });
  }
}

function startControl(options: {
  tempDir: string;
  databaseUrl: string;
  env: Record<string, string>;
  profileDir: string | undefined;
}): Promise<Program> {
  const { tempDir, databaseUrl, env, profileDir } = options;
  const flags = [
    '--port',
    '0',
    '--data-dir',
    join(tempDir, 'control'),
    '--runtime',
    'kubernetes',
    '--log-level',
    'warn',
  ];
  return startProgram({
    command: process.execPath,
    args: ['--max-semi-space-size=16', '--import', INSIDE, MAIN, 'serve', ...flags, '--roles', 'control'],
    env: {
      ...env,
      DATABASE_URL: databaseUrl,
      PODYARD_WORKER_API_PORT: '0',
      BENCH_REQUESTS: requestsFile(tempDir),
      ...(profileDir && { BENCH_PROFILES: profileDir }),
    },
    ready: /Podyard is ready at (http:\S+)/,
  });
}

function requestsFile(tempDir: string): string {
  return join(tempDir, 'requests.json');
}

/** Resolves once all wanted workers run and are ready, with how long it took in seconds. */
async function fill(fleet: Fleet): Promise<number> {
  const wanted = fleet.keepers.length * WORKERS_PER_KEEPER;
  const startedAt = performance.now();
  let [working, changedAt] = [0, startedAt];
  while (working < wanted) {
    await fleet.makeReady();
    await sleep(500);
    const now = await fleet.countWorking();
    if (now !== working) changedAt = performance.now();
    if (performance.now() - changedAt > FILL_STALLS_MS) throw new Error(`only ${now} of ${wanted} pods run`);
    working = now;
    process.stderr.write(`\r${working} of ${wanted} run `);
  }
  return (performance.now() - startedAt) / 1000;
}

async function measure(
  setup: { control: Program; fleet: Fleet; apiServer: number; tempDir: string },
  seconds: number,
  act: () => Promise<unknown>,
): Promise<Phase> {
  const { control, fleet, apiServer, tempDir } = setup;
  const since = new Date();
  const before = await countRequests(control, tempDir);
  const [controlCpu, apiServerCpu] = await watch([control.pid, apiServer], seconds, act);
  const { started, ended } = await fleet.turnover(since);
  const requests = Object.entries(await countRequests(control, tempDir))
    .map(([name, count]): [string, number] => [name, count - (before[name] ?? 0)])
    .filter(([, count]) => count > 0)
    .sort(([, a], [, b]) => b - a);
  return {
    seconds,
    controlCpu: controlCpu!,
    apiServerCpu: apiServerCpu!,
    rssMb: usageOfTree(control.pid).rssMb,
    started,
    ended,
    requests: Object.fromEntries(requests),
  };
}

/** Returns the counts that inside-control.ts writes on a signal. */
async function countRequests(control: Program, tempDir: string): Promise<Counts> {
  const file = requestsFile(tempDir);
  await rm(file, { force: true });
  process.kill(control.pid, 'SIGUSR2');
  while (!existsSync(file)) await sleep(20);
  return JSON.parse(await readFile(file, 'utf8')) as Counts;
}

function render({ machine, nodes, pods, fillSeconds, idle, changing }: NodesReport): string {
  const title = `\n${machine.cpus}, Node.js ${machine.node}; ${nodes} nodes, ${pods} pods, filled in ${fillSeconds.toFixed(0)} s\n`;
  const sum = (counts: Counts) => Object.values(counts).reduce((total, count) => total + count, 0);
  const row = (name: string, { seconds, controlCpu, apiServerCpu, rssMb, started, ended, requests }: Phase) => {
    const changes = started + ended;
    return [
      name,
      `${controlCpu.toFixed(1)} %`,
      `${rssMb.toFixed(0)} MB`,
      `${apiServerCpu.toFixed(0)} %`,
      (started / seconds).toFixed(1),
      (ended / seconds).toFixed(1),
      (sum(requests) / seconds).toFixed(2),
      changes < 10 ? '-' : (sum(requests) / changes).toFixed(2),
    ];
  };
  const calls = (phase: Phase) =>
    Object.entries(phase.requests).map(([name, count]) => [name, (count / phase.seconds).toFixed(2)]);
  return [
    title,
    renderTable([
      ['', 'control', 'memory', 'API server', 'started/s', 'ended/s', 'requests/s', 'per change'],
      row('at rest', idle),
      row('changing', changing),
    ]),
    ...[idle, changing].map((phase, i) =>
      renderTable([[i === 0 ? 'at rest' : 'changing', 'per second'], ...calls(phase)]),
    ),
  ].join('\n');
}
