import type { BoundedSet } from '../../../core/bounded-map.ts';
import type { Clock } from '../../../core/clock.ts';
import type { WorkerId } from '../../../core/ids.ts';
import type { Logger } from '../../../core/logger.ts';
import type { Bus } from '../../../db/bus.ts';
import type { Pool } from '../../../db/pool.ts';
import type { Place } from '../run/launch-worker.ts';
import type { CapacityLedger } from './capacity-ledger.ts';
import type { ReservedGpus } from './reserved-gpus.ts';
import type { StartRecords } from './start-records.ts';

export interface Placements {
  placed: Map<string, Place>;
  /** For each of the others, what is missing: one sentence. */
  missing: Map<string, string>;
}

export interface PlacementDeps {
  pool: Pool;
  bus: Pick<Bus, 'publish'>;
  logger: Logger;
  capacity: CapacityLedger;
  records: StartRecords;
  reserved: ReservedGpus;
  /** Workers that the runtime refused although GPUs seemed free: it lacks something that the ledger does not know. */
  refused: Pick<BoundedSet<WorkerId>, 'delete'>;
  /** Measures intervals. */
  monotonic: Clock;
}
