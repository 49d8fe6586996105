import type { Db } from '../db/pool.ts';

const KEY = 'gpus';

/**
 * Stores what the process that starts workers read of the machine's GPUs. Processes that only serve clients take it from
 * there: they may run where no GPU is seen, and each would cost a program or a container.
 */
export async function saveGpuRecord(db: Db, record: object): Promise<void> {
  await db.query(
    'insert into settings (key, value) values ($1, $2) on conflict (key) do update set value = excluded.value',
    [KEY, JSON.stringify(record)],
  );
}

/** Undefined before the first time. */
export async function findGpuRecord<T extends object>(db: Db): Promise<T | undefined> {
  const result = await db.query<{ value: T }>('select value from settings where key = $1', [KEY]);
  return result.rows[0]?.value;
}
