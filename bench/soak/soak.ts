import { mkdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { JOB_LIMITS } from '../../src/config/limit-settings.ts';
import { readSettings } from '../../src/config/setting.ts';
import { cleanUpLoop } from '../../src/control/housekeeping/clean-up.ts';
import { systemClock } from '../../src/core/clock.ts';
import { silentLogger } from '../../src/core/logger.ts';
import { deleteOldHistory } from '../../src/domain/history/write-history.ts';
import { ServerProcess } from '../../test/e2e/server-process.ts';
import { readOptions } from '../options.ts';
import type { Percentiles } from '../queue/latencies.ts';
import { usageOfTree } from '../queue/process-usage.ts';
import { describeMachine, writeResults } from '../results.ts';
import { printReport } from './report.ts';
import { ageRows, foldEarly } from './retention.ts';
import { type Activity, countRows, readActivity, readTables, type Sample, takeSample } from './samples.ts';
import type { TablesInTenth } from './table-growth.ts';
import { BATCH_REQUESTS, Traffic } from './traffic.ts';

const DAY_SECONDS = 86_400;
const TENTHS = 10;
const CYCLES_A_TENTH = 3;
const SAMPLES_A_TENTH = 15;
const CLEAN_UP_SECONDS = 60;

/** The run and its measurements. */
export interface SoakResult {
  minutes: number;
  tenths: Tenth[];
  activity: Record<string, Activity>;
  /** From the second tenth on. */
  databaseCpuUsPerJob: number;
  /** Latency of the submission of a job. */
  latencies: Percentiles;
}

export interface Tenth {
  peaks: Sample;
  tables: TablesInTenth;
}

interface Soak {
  server: ServerProcess;
  db: pg.Client;
  databasePid: number;
  tenthMs: number;
}

/**
 * `node bench/main.ts soak`: see bench/README.md. A day's traffic in `--minutes`: what is kept for a time is kept so much shorter,
 * and cleaned up so much more often. Prints a row per tenth. Sets the exit status to 1 if a figure is not flat.
 */
export async function benchSoak(args: string[]): Promise<void> {
  const values = readOptions(args, {
    minutes: { type: 'string', default: '30' },
    rate: { type: 'string', default: '100' },
    setting: { type: 'string', multiple: true, default: [] },
    sql: { type: 'string', multiple: true, default: [] },
  });
  const seconds = Number(values.minutes) * 60;
  const startedAt = new Date().toISOString();
  const env = shortened(seconds);
  const server = await ServerProcess.create({ runtime: 'process', gpus: 'ADA_24:16', env: { ...env, ...NO_LIMITS } });
  try {
    await writeSettings(server.dataDir, seconds, values.setting);
    await server.start();
    const databasePid = (await server.postmaster()).pid;
    const db = new pg.Client({ connectionString: await server.databaseUrl() });
    await db.connect();
    const soak: Soak = { server, db, databasePid, tenthMs: (seconds * 1000) / TENTHS };
    for (const statement of values.sql) await db.query(statement);
    const result = await play(soak, Number(values.rate), createHousekeeping(await server.databaseUrl(), env, seconds));
    await db.end();
    if (!printReport(result)) process.exitCode = 1;
    const report = { startedAt, machine: describeMachine(tmpdir()), options: values, ...result };
    await writeResults('soak', report);
  } finally {
    await server.dispose();
  }
}

const NO_LIMITS = { PODYARD_RATE_LIMIT: 'off', PODYARD_ALLOW_PRIVATE_WEBHOOKS: 'true' };

/** Retention as many times shorter as the day is. What is kept for a day or longer is kept for half a tenth of the run. */
function shortened(seconds: number): Record<string, string> {
  const scaled = (ofADay: number) => String(Math.max(2, Math.round((ofADay * seconds) / DAY_SECONDS)));
  const firstTenth = String(Math.max(2, Math.round(seconds / TENTHS / 2)));
  return {
    PODYARD_RESULT_RETENTION_SECONDS: scaled(1800),
    PODYARD_SYNC_RESULT_RETENTION_SECONDS: scaled(300),
    PODYARD_LOG_RETENTION_SECONDS: firstTenth,
    PODYARD_ENDED_RETENTION_SECONDS: firstTenth,
    PODYARD_BATCH_RETENTION_SECONDS: firstTenth,
  };
}

/** Checkpoints as much more often as PostgreSQL allows, so that the log's size settles; vacuum as in a real installation. */
async function writeSettings(dataDir: string, seconds: number, more: readonly string[]): Promise<void> {
  const checkpointSeconds = Math.max(30, Math.round((900 * seconds) / DAY_SECONDS));
  await mkdir(dataDir, { recursive: true });
  const lines = [`checkpoint_timeout = '${checkpointSeconds}s'`, "max_wal_size = '256MB'", ...more];
  await writeFile(join(dataDir, 'postgres.conf'), `${lines.join('\n')}\n`);
}

/** The leader's housekeeping, beside the leader's own, at the pace of the shortened day. */
function createHousekeeping(databaseUrl: string, env: Record<string, string>, seconds: number) {
  const pool = new pg.Pool({ connectionString: databaseUrl, max: 1 });
  const limits = readSettings(JOB_LIMITS, {}, env);
  const cleaner = cleanUpLoop({ pool, clock: systemClock, logger: silentLogger, limits });
  const everyMs = Math.max(1_000, (CLEAN_UP_SECONDS * 1000 * seconds) / DAY_SECONDS);
  const keepMs = (seconds * 1000) / TENTHS / 2;
  const runOnce = async () => {
    await ageRows(pool, keepMs);
    await foldEarly(pool, Date.now());
    await cleaner.runOnce();
    while (await deleteOldHistory(pool));
  };
  return { pool, everyMs, runOnce };
}

async function play(
  soak: Soak,
  rate: number,
  housekeeping: ReturnType<typeof createHousekeeping>,
): Promise<SoakResult> {
  const { server, db, databasePid, tenthMs } = soak;
  const traffic = new Traffic(server);
  await traffic.createEndpoint();
  let isOver = false;
  const cleaningUp = (async () => {
    for (; !isOver; await sleep(housekeeping.everyMs)) await housekeeping.runOnce();
  })();
  const tenths: Tenth[] = [];
  const jobs = () => traffic.done.jobs + traffic.done.batches * BATCH_REQUESTS;
  const usage = () => ({ jobs: jobs(), seconds: usageOfTree(databasePid).cpuSeconds });
  let warm = usage();
  for (let tenth = 0; tenth < TENTHS; tenth++) {
    const finish = watch(soak);
    for (let cycle = 0; cycle < CYCLES_A_TENTH; cycle++) await traffic.playCycle(tenthMs / CYCLES_A_TENTH, rate);
    tenths.push(await finish());
    if (tenth === 0) warm = usage();
    process.stderr.write(`tenth ${tenth + 1} of ${TENTHS}: ${JSON.stringify(traffic.done)} ${traffic.firstFailure}\n`);
  }
  const end = usage();
  isOver = true;
  await cleaningUp;
  await housekeeping.pool.end();
  traffic.close();
  if (traffic.done.failed > 0) process.exitCode = 1;
  return {
    minutes: (tenthMs * TENTHS) / 60_000,
    tenths,
    activity: await readActivity(db),
    databaseCpuUsPerJob: ((end.seconds - warm.seconds) * 1e6) / (end.jobs - warm.jobs),
    latencies: traffic.latencies.percentiles()!,
  };
}

/** Samples until the returned function is called, which resolves with the peaks and the rows of then. */
function watch({ server, db, databasePid, tenthMs }: Soak): () => Promise<Tenth> {
  const samples: Sample[] = [];
  const tables: TablesInTenth = {};
  let isOver = false;
  const watching = (async () => {
    for (; !isOver; await sleep(tenthMs / SAMPLES_A_TENTH)) {
      const serverLog = server.loggedBytes / 2 ** 20;
      const sizes = await readTables(db);
      for (const { name, tableMb, indexMb, deadRows } of sizes) {
        const peak = tables[name] ?? { rows: 0, mb: 0, deadRows: 0 };
        tables[name] = {
          ...peak,
          mb: Math.max(peak.mb, tableMb + indexMb),
          deadRows: Math.max(peak.deadRows, deadRows),
        };
      }
      const of = { serverPid: server.pid, databasePid, dataDir: server.dataDir, serverLog };
      samples.push(await takeSample(db, sizes, of));
    }
  })();
  return async () => {
    isOver = true;
    await watching;
    for (const [name, rows] of Object.entries(await countRows(db)))
      tables[name] = { mb: 0, deadRows: 0, ...tables[name], rows }; // one may be new
    const names = Object.keys(samples[0]!) as (keyof Sample)[];
    const peak = (name: keyof Sample) => Math.max(...samples.map((sample) => sample[name]));
    return { peaks: Object.fromEntries(names.map((name) => [name, peak(name)])) as unknown as Sample, tables };
  };
}
