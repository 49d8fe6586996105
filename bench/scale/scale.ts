import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { readOptions } from '../options.ts';
import { Latencies, type Percentiles } from '../queue/latencies.ts';
import { startPostgres } from '../queue/postgres.ts';
import { usageOfTree } from '../queue/process-usage.ts';
import { type Program, startProgram } from '../queue/program.ts';
import { renderTable } from '../queue/table.ts';
import { describeMachine, type Machine, writeResults } from '../results.ts';
import { Fleet, type FleetSize, WORKERS_PER_KEEPER } from './fleet.ts';
import { Pace, watch } from './pace.ts';

const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
const SETTLE_S = 5;

interface ScaleResult {
  endpoints: number;
  working: number;
  workers: number;
  /** Time until all workers of `workers.min` were started. */
  fillSeconds: number;
  changesPerSecond: number;
  /** Changes actually made: fewer when the machine is too busy for the benchmark itself. */
  madePerSecond: number;
  /** In percent of one processor. */
  idleCpu: number;
  cpu: number;
  postgresCpu: number;
  rssMb: number;
  reactionMs: Percentiles | null;
}

interface ScaleReport {
  startedAt: string;
  machine: Machine;
  results: ScaleResult[];
}

/** `node bench/main.ts scale`: see bench/README.md. Prints a table, writes JSON. */
export async function benchScale(args: string[]): Promise<void> {
  const values = readOptions(args, {
    sizes: { type: 'string', default: '100,1000,10000' },
    working: { type: 'string' },
    changes: { type: 'string' },
    seconds: { type: 'string', default: '20' },
    'cpu-prof': { type: 'string' },
    main: { type: 'string', default: MAIN },
  });
  const tempDir = await mkdtemp(join(tmpdir(), 'podyard-bench-'));
  const postgres = await startPostgres(join(tempDir, 'shared'));
  try {
    const report: ScaleReport = {
      startedAt: new Date().toISOString(),
      machine: describeMachine(tempDir),
      results: [],
    };
    for (const endpoints of values.sizes.split(',').map(Number)) {
      const working = Math.min(endpoints, Number(values.working ?? endpoints));
      const changes = Number(values.changes ?? Math.max(1, Math.round(working / 100)));
      const databaseUrl = await postgres.createDatabase(`fleet${endpoints}`);
      const dataDir = join(tempDir, `size${endpoints}`);
      const control = await startControl(values.main, dataDir, databaseUrl, values['cpu-prof']);
      const seconds = Number(values.seconds);
      try {
        const size = { endpoints, working };
        report.results.push(await measure({ size, changes, databaseUrl, control, postgresPid: postgres.pid, seconds }));
      } finally {
        await control.stop();
      }
    }
    process.stdout.write(render(report));
    await writeResults('scale', report);
  } finally {
    await postgres.stop();
    await rm(tempDir, { recursive: true, force: true });
  }
}

function startControl(
  main: string,
  dataDir: string,
  databaseUrl: string,
  profileDir: string | undefined,
): Promise<Program> {
  const flags = ['--port', '0', '--data-dir', dataDir, '--runtime', 'simulated', '--log-level', 'warn'];
  const profile = profileDir ? ['--cpu-prof', `--cpu-prof-dir=${profileDir}`] : [];
  return startProgram({
    command: process.execPath,
    args: ['--max-semi-space-size=16', ...profile, main, 'serve', ...flags, '--roles', 'control'],
    env: { DATABASE_URL: databaseUrl, PODYARD_SIMULATE_GPUS: 'ADA_24:100000', PODYARD_WORKER_API_PORT: '0' },
    ready: /Podyard is ready at (http:\S+)/,
  });
}

async function measure(run: {
  size: FleetSize;
  /** Made a second. */
  changes: number;
  databaseUrl: string;
  control: Program;
  postgresPid: number;
  seconds: number;
}): Promise<ScaleResult> {
  const { size, changes, control, postgresPid, seconds } = run;
  const fleet = await Fleet.create(run.databaseUrl, size);
  try {
    const wanted = fleet.keepers.length * WORKERS_PER_KEEPER;
    const fillStartedAt = performance.now();
    for (let working = 0; working < wanted; working = await fleet.countWorking()) {
      await fleet.makeReady();
      await sleep(200);
    }
    const fillSeconds = (performance.now() - fillStartedAt) / 1000;
    await sleep(SETTLE_S * 1000);
    const idle = await watch([control.pid], 10, () => sleep(1_000));
    await fleet.analyze();
    const pace = new Pace(fleet, changes);
    for (let i = 0; i < SETTLE_S * 4; i++) await pace.quarter();
    const since = new Date();
    const madeBefore = pace.made;
    const startedAt = performance.now();
    const [cpu, postgresCpu] = await watch([control.pid, postgresPid], seconds, async () => {
      for (let i = 0; i < 4; i++) await pace.quarter();
    });
    const madePerSecond = (pace.made - madeBefore) / ((performance.now() - startedAt) / 1000);
    const rssMb = usageOfTree(control.pid).rssMb;
    await sleep(500);
    const reactions = new Latencies();
    for (const ms of await fleet.reactions(since)) reactions.add(ms);
    return {
      ...size,
      workers: wanted,
      fillSeconds,
      changesPerSecond: changes,
      madePerSecond,
      idleCpu: idle[0]!,
      cpu: cpu!,
      postgresCpu: postgresCpu!,
      rssMb,
      reactionMs: reactions.percentiles(),
    };
  } finally {
    await fleet.close();
  }
}

function render({ results, machine }: ScaleReport): string {
  const rows = results.map((one) => [
    String(one.endpoints),
    String(one.working),
    String(one.workers),
    `${one.madePerSecond.toFixed(0)} of ${one.changesPerSecond}`,
    `${one.fillSeconds.toFixed(1)} s`,
    (one.workers / one.fillSeconds).toFixed(0),
    `${one.idleCpu.toFixed(1)} %`,
    `${one.cpu.toFixed(1)} %`,
    `${one.postgresCpu.toFixed(1)} %`,
    `${one.rssMb.toFixed(0)} MB`,
    one.reactionMs ? `${one.reactionMs.p50.toFixed(1)} ms` : '-',
    one.reactionMs ? `${one.reactionMs.p99.toFixed(1)} ms` : '-',
  ]);
  const head = [
    'endpoints',
    'working',
    'workers',
    'changes/s',
    'filled in',
    'starts/s',
    'idle',
    'control',
    'postgres',
    'memory',
    'p50',
    'p99',
  ];
  return `\nControl, simulated runtime, ${machine.cpus}; p50 and p99: from a job to its worker's start\n\n${renderTable([head, ...rows])}`;
}
