import type { Db } from '../src/db/pool.ts';

/** The columns of an endpoint that a test does not care about: a queue on a GPU, from zero to three workers. */
const COLUMNS = {
  ...{
    type: 'QUEUE_BASED',
    image: 'i',
    args: '',
    disk_gb: 1,
    ports: [],
    env: '{}',
    gpu_pools: ['ADA_24'],
    gpu_count: 1,
  },
  ...{ workers_min: 0, workers_max: 3, scaler_type: 'QUEUE_DELAY', scaler_value: 4, idle_timeout_s: 5, timeout_ms: 0 },
  ...{ data_center_ids: [], network_volume_ids: [], flashboot: 'OFF', version: 1 },
};

/** Inserts an endpoint past all operations: without a release, an event or a hint. Its name is its id by default. */
export async function insertEndpoint(
  db: Db,
  columns: { id: string; user_id: string; name?: string } & Partial<Record<keyof typeof COLUMNS, unknown>> & {
      client_settings?: unknown;
    },
): Promise<void> {
  const row = Object.entries({ ...COLUMNS, name: columns.id, ...columns });
  const places = row.map((_, i) => `$${i + 1}`);
  await db.query(
    `insert into endpoints (${row.map(([name]) => name).join(', ')}) values (${places.join(', ')})`,
    row.map(([, value]) => value),
  );
}
