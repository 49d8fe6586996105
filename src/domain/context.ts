import type { Bus } from '../db/bus.ts';
import type { Pool } from '../db/pool.ts';

/** What an operation that changes something works with: the database, and where it says that something changed. */
export interface Context {
  pool: Pool;
  bus: Pick<Bus, 'publish'>;
}
