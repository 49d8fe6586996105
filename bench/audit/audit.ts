import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createPool, type Pool } from '../../src/db/pool.ts';
import { readOptions } from '../options.ts';
import { startPodyard } from '../queue/podyard.ts';
import { type PostgresServer, startPostgres } from '../queue/postgres.ts';
import { renderTable } from '../queue/table.ts';
import { describeMachine, writeResults } from '../results.ts';
import { measureChanges } from './changes.ts';
import { fillLog, measurePages } from './pages.ts';

/** `node bench/main.ts audit`: see bench/README.md. Prints tables, writes JSON. */
export async function benchAudit(args: string[]): Promise<void> {
  const values = readOptions(args, {
    parts: { type: 'string', default: 'changes,pages' },
    rounds: { type: 'string', default: '5' },
    changes: { type: 'string', default: '1000' },
    entries: { type: 'string', default: '10000000' },
  });
  const parts = values.parts.split(',');
  const tempDir = await mkdtemp(join(tmpdir(), 'podyard-bench-'));
  const postgres = await startPostgres(join(tempDir, 'shared'));
  try {
    const startedAt = new Date().toISOString();
    const results: Record<string, unknown> = {};
    await withServer(postgres, tempDir, async (served) => {
      if (parts.includes('changes')) {
        const rounds = await measureChanges(served, { rounds: Number(values.rounds), count: Number(values.changes) });
        results.changes = rounds;
        process.stdout.write(renderTable([['a change', 'CPU µs', 'share', 'time µs', 'share'], ...rounds]));
      }
      if (parts.includes('pages')) {
        await fillLog(served.pool, Number(values.entries));
        const pages = await measurePages(served.pool, Number(values.rounds));
        results.pages = pages;
        process.stdout.write(renderTable([['newest 50', 'p50 ms', 'p99 ms'], ...pages]));
      }
    });
    const report = { startedAt, machine: describeMachine(tempDir), ...results };
    await writeResults('audit', report);
  } finally {
    await postgres.stop();
    await rm(tempDir, { recursive: true, force: true });
  }
}

/** A server on a database, and what else works on it. */
export interface Served {
  url: string;
  pids: { server: number; database: number };
  pool: Pool;
}

async function withServer(
  postgres: PostgresServer,
  tempDir: string,
  work: (served: Served) => Promise<void>,
): Promise<void> {
  const databaseUrl = await postgres.createDatabase('audit');
  const podyard = await startPodyard({ dataDir: join(tempDir, 'podyard'), databaseUrl });
  const pool = createPool({ databaseUrl, applicationName: 'bench', maxConnections: 1 });
  try {
    await work({ url: podyard.clientUrl, pids: { server: podyard.pid, database: postgres.pid }, pool });
  } finally {
    await pool.end();
    await podyard.stop();
  }
}
