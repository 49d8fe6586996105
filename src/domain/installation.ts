import { newId } from '../core/ids.ts';
import type { Db } from '../db/pool.ts';

/** Constant for the life of a database: which workloads belong to it, and where they reach it. */
export interface Installation {
  /** Labels workloads, so that installations that share an engine ignore each other's. */
  id: string;
  /** In the environment of running workers, so it must stay the same across restarts. */
  workerApiPort: number;
  /** The runtime that has the workloads; absent until one was used. */
  runtime?: string;
}

const FIRST_PORT = 20_000;
const PORTS = 10_000;

/** Returns the installation, created at the first start with a random port below the ephemeral ports. */
export async function ensureInstallation(db: Db): Promise<Installation> {
  const made: Installation = { id: newId(10), workerApiPort: FIRST_PORT + Math.floor(Math.random() * PORTS) };
  await db.query("insert into settings (key, value) values ('installation', $1) on conflict do nothing", [
    JSON.stringify(made),
  ]);
  const result = await db.query<{ value: Installation }>("select value from settings where key = 'installation'");
  return result.rows[0]!.value;
}

export async function saveWorkerApiPort(db: Db, port: number): Promise<void> {
  await db.query(
    `update settings set value = jsonb_set(value, '{workerApiPort}', to_jsonb($1::int)) where key = 'installation'`,
    [port],
  );
}

/** Returns the runtime that has the workloads; null before the first. */
export async function readRuntime(db: Db): Promise<string | null> {
  const result = await db.query<{ runtime: string | null }>(
    "select value ->> 'runtime' as runtime from settings where key = 'installation'",
  );
  return result.rows[0]?.runtime ?? null;
}

/** Stores which runtime has the workloads from now on. Returns the one before, or null. */
export async function updateRuntime(db: Db, runtime: string): Promise<string | null> {
  const result = await db.query<{ before: string | null }>(
    `update settings set value = jsonb_set(settings.value, '{runtime}', to_jsonb($1::text))
     from (select value ->> 'runtime' as before from settings where key = 'installation' for update) as old
     where key = 'installation' returning before`,
    [runtime],
  );
  return result.rows[0]?.before ?? null;
}
