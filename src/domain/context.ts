import type { Bus } from '../db/bus.ts';
import type { Pool } from '../db/pool.ts';

/** The dependencies of an operation that writes: the database, and the bus to notify of changes. */
export interface Context {
  pool: Pool;
  bus: Pick<Bus, 'publish'>;
}
