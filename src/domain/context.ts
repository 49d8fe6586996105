import type { Logger } from '../core/logger.ts';
import type { Bus } from '../db/bus.ts';
import type { Pool } from '../db/pool.ts';
import type { RefusalLog } from './audit/refusal-log.ts';

/** The dependencies of an operation: the database, and the bus to notify of changes. */
export interface Context {
  pool: Pool;
  bus: Pick<Bus, 'publish'>;
  /** Changes are logged at `debug`. */
  logger?: Pick<Logger, 'debug'>;
  /** Bounds how many refusals the audit log gets. Absent: each is written. */
  refusals?: Pick<RefusalLog, 'add'>;
}
