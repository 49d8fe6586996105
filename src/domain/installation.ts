import { newId } from '../core/ids.ts';
import type { Db } from '../db/pool.ts';

/** What stays the same for as long as the database lives: which workloads are ours, and where they find us. */
export interface Installation {
  /** Labels workloads, so that two installations on one engine leave each other's alone. */
  id: string;
  /** Running workers have this port in their environment: after a restart they must find the worker API there. */
  workerApiPort: number;
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
