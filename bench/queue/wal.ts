import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startPodyard } from './podyard.ts';
import { query } from './postgres.ts';
import { playOn } from './subject.ts';
import { podyardSubject, type Setup } from './systems.ts';

/** The cost of jobs of 1 KiB for the database's log and its connections, in one mode of load. */
export interface WalRun {
  mode: 'paced' | 'saturated';
  jobs: number;
  bytesPerJob: number;
  /** Pages logged whole, at their first change after a checkpoint. */
  wholePagesPerJob: number;
  commitsPerJob: number;
  fsyncsPerJob: number;
  connections: number;
}

/** Backends report what they did at most once a second. */
const REPORTED_MS = 1_500;

/** Measures what PostgreSQL writes for jobs that are submitted, taken and finished one by one. */
export async function measureWal(setup: Setup, options: { seconds: number }): Promise<WalRun[]> {
  const databaseUrl = await setup.postgres.createDatabase('podyard_wal');
  const podyard = await startPodyard({ dataDir: join(setup.tempDir, 'podyard-wal'), databaseUrl });
  const subject = await podyardSubject('podyard', setup, databaseUrl, podyard);
  const runs: WalRun[] = [];
  try {
    await playOn(subject, setup.tempDir, 'saturated', { seconds: 3, warmUp: 1 }); // tables and caches have grown
    for (const mode of ['paced', 'saturated'] as const) {
      await sleep(REPORTED_MS);
      const before = await readCounters(databaseUrl);
      await playOn(subject, setup.tempDir, mode, { seconds: options.seconds, warmUp: 1, rate: 100 });
      await sleep(REPORTED_MS);
      const after = await readCounters(databaseUrl);
      const jobs = after.jobs - before.jobs;
      const perJob = (name: keyof Counters) => (after[name] - before[name]) / jobs;
      runs.push({
        mode,
        jobs,
        bytesPerJob: perJob('bytes'),
        wholePagesPerJob: perJob('wholePages'),
        commitsPerJob: perJob('commits'),
        fsyncsPerJob: perJob('fsyncs'),
        connections: after.connections,
      });
    }
    return runs;
  } finally {
    await subject.stop();
  }
}

interface Counters {
  jobs: number;
  bytes: number;
  wholePages: number;
  commits: number;
  fsyncs: number;
  connections: number;
}

async function readCounters(databaseUrl: string): Promise<Counters> {
  const [row] = await query<{ [name in keyof Counters]: string }>(
    databaseUrl,
    `select (select sum(completed) from endpoint_counters) as jobs,
       pg_current_wal_insert_lsn() - '0/0'::pg_lsn as bytes,
       (select wal_fpi from pg_stat_wal) as "wholePages",
       (select xact_commit from pg_stat_database where datname = current_database()) as commits,
       (select sum(fsyncs) from pg_stat_io where object = 'wal') as fsyncs,
       (select count(*) from pg_stat_activity where application_name like 'podyard%') as connections`,
  );
  return Object.fromEntries(Object.entries(row!).map(([name, value]) => [name, Number(value)])) as unknown as Counters;
}
