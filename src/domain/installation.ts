import { newId } from '../core/ids.ts';
import type { Db } from '../db/pool.ts';

/** What stays the same for as long as the database lives: which workloads are ours, and where they find us. */
export interface Installation {
  /** Labels workloads, so that two installations on one engine leave each other's alone. */
  id: string;
  /** Running workers have this port in their environment: after a restart they must find the worker API there. */
  workerApiPort: number;
  /** Which runtime has the workloads; absent until one was asked for any. */
  runtime?: string;
}

const FIRST_PORT = 20_000;
const PORTS = 10_000;

/** Reads it, making it on the first start: the port is a random one below those that systems hand out. */
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

/** Notes which runtime has the workloads from here on. Answers which one had them before; null when nobody noted it. */
export async function noteRuntime(db: Db, runtime: string): Promise<string | null> {
  const result = await db.query<{ before: string | null }>(
    `update settings set value = jsonb_set(settings.value, '{runtime}', to_jsonb($1::text))
     from (select value ->> 'runtime' as before from settings where key = 'installation' for update) as noted
     where key = 'installation' returning before`,
    [runtime],
  );
  return result.rows[0]?.before ?? null;
}
