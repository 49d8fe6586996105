import { readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type pg from 'pg';

/** Figures at one moment; sizes in MB. */
export interface Sample {
  tables: number;
  indexes: number;
  deadRows: number;
  wal: number;
  serverRss: number;
  databaseRss: number;
  descriptors: number;
  databaseLog: number;
  serverLog: number;
}

export interface TableSize {
  name: string;
  /** With its TOAST. */
  tableMb: number;
  indexMb: number;
  deadRows: number;
}

/** The partitions of finished jobs, as one table. They are ten minutes wide whatever the retention. */
export const PARTITIONED = 'finished_jobs';
const MB = 2 ** 20;

export async function readTables(db: pg.ClientBase): Promise<TableSize[]> {
  const { rows } = await db.query<TableSize>(
    `select case when c.relispartition then '${PARTITIONED}' else c.relname end as name,
            sum(pg_table_size(c.oid) / ${MB}.0)::float8 as "tableMb",
            sum(pg_indexes_size(c.oid) / ${MB}.0)::float8 as "indexMb", sum(s.n_dead_tup)::float8 as "deadRows"
     from pg_class c join pg_stat_user_tables s on s.relid = c.oid
     where c.relkind = 'r' group by 1`,
  );
  return rows;
}

/** Returns the exact number of rows of each table. */
export async function countRows(db: pg.ClientBase): Promise<Record<string, number>> {
  const tables = await db.query<{ name: string }>(
    `select relname as name from pg_class
     where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition`,
  );
  const counts = tables.rows.map(({ name }) => `select '${name}' as name, count(*)::float8 as count from "${name}"`);
  const { rows } = await db.query<{ name: string; count: number }>(counts.join(' union all '));
  return Object.fromEntries(rows.map(({ name, count }) => [name, count]));
}

export interface Activity {
  vacuums: number;
  vacuumMs: number;
  analyzeMs: number;
  /** The share of updates that wrote no index. */
  hotShare: number;
}

/** Returns what autovacuum and updates did to each table so far; not for partitions that were dropped. */
export async function readActivity(db: pg.ClientBase): Promise<Record<string, Activity>> {
  const { rows } = await db.query<Activity & { name: string }>(
    `select case when c.relispartition then '${PARTITIONED}' else c.relname end as name,
            sum(s.autovacuum_count)::float8 as vacuums, sum(s.total_autovacuum_time)::float8 as "vacuumMs",
            sum(s.total_autoanalyze_time)::float8 as "analyzeMs",
            coalesce(sum(s.n_tup_hot_upd) / nullif(sum(s.n_tup_upd), 0), 1)::float8 as "hotShare"
     from pg_class c join pg_stat_user_tables s on s.relid = c.oid group by 1`,
  );
  return Object.fromEntries(rows.map(({ name, ...activity }) => [name, activity]));
}

/** `serverLog`: what the server has logged so far, in MB. */
export async function takeSample(
  db: pg.ClientBase,
  tables: readonly TableSize[],
  of: { serverPid: number; databasePid: number; dataDir: string; serverLog: number },
): Promise<Sample> {
  const { rows } = await db.query<{ mb: number }>(`select (sum(size) / ${MB}.0)::float8 as mb from pg_ls_waldir()`);
  const sum = (pick: (table: TableSize) => number) =>
    tables.reduce((total, table) => total + (table.name === PARTITIONED ? 0 : pick(table)), 0);
  const database = [of.databasePid, ...childrenOf(of.databasePid)];
  return {
    tables: sum((table) => table.tableMb),
    indexes: sum((table) => table.indexMb),
    deadRows: sum((table) => table.deadRows),
    wal: rows[0]!.mb,
    serverRss: statusMb(of.serverPid, 'VmRSS'),
    // Without shared memory, which fills up to shared_buffers and would count once per process.
    databaseRss: database.reduce((total, pid) => total + statusMb(pid, 'RssAnon'), 0),
    descriptors: [of.serverPid, of.databasePid].reduce((total, pid) => total + countDescriptors(pid), 0),
    databaseLog: statSync(join(of.dataDir, 'postgres.log')).size / MB,
    serverLog: of.serverLog,
  };
}
function childrenOf(pid: number): number[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1').trim().split(' ').filter(Boolean).map(Number);
}

/** A field of proc_pid_status(5); 0 for a process that has ended. */
function statusMb(pid: number, field: 'VmRSS' | 'RssAnon'): number {
  try {
    const kb = new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1];
    return Number(kb ?? 0) / 1024;
  } catch {
    return 0;
  }
}

/** Files and sockets; not the directories and pipes that are opened for a moment. */
function countDescriptors(pid: number): number {
  return readdirSync(`/proc/${pid}/fd`).filter((fd) => {
    try {
      return /^(socket:|\/)/.test(readlinkSync(`/proc/${pid}/fd/${fd}`));
    } catch {
      return false; // closed meanwhile
    }
  }).length;
}
