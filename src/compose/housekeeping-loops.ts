import type { Config } from '../config/config.ts';
import { cleanUpLoop } from '../control/housekeeping/clean-up.ts';
import { lostProgramLoop } from '../control/housekeeping/end-lost-programs.ts';
import { evictionGuardLoop } from '../control/housekeeping/guard-evictions.ts';
import { budgetLoop } from '../control/housekeeping/keep-budgets.ts';
import { fileServersLoop } from '../control/housekeeping/keep-file-servers.ts';
import { historyLoop } from '../control/housekeeping/keep-history.ts';
import { keptImagesLoop } from '../control/housekeeping/keep-images.ts';
import { VolumeKeeper } from '../control/housekeeping/keep-volumes.ts';
import { usageLoop } from '../control/housekeeping/meter-usage.ts';
import { userRemovalLoop } from '../control/housekeeping/remove-users.ts';
import { ImageResolver } from '../control/housekeeping/resolve-images.ts';
import { incidentLoop } from '../control/housekeeping/run-incidents.ts';
import { ImagePuller } from '../control/images/pull-ahead.ts';
import type { CapacityLedger } from '../control/workers/place/capacity-ledger.ts';
import type { LogCollector } from '../control/workloads/collect-logs.ts';
import type { ReleaseImages } from '../control/workloads/release-images.ts';
import type { Clock } from '../core/clock.ts';
import type { Logger } from '../core/logger.ts';
import type { SecretBox } from '../core/secret-box.ts';
import type { Bus } from '../db/bus.ts';
import type { Pool } from '../db/pool.ts';
import type { Runtime, WorkloadStorage } from '../runtimes/runtime.ts';
import { ShortageRuntime } from '../runtimes/shortage/shortage-runtime.ts';

/** Runs from the start of a leader's term to its end. */
export interface Loop {
  start(): void;
  stop(): Promise<void>;
}

interface Parts {
  pool: Pool;
  bus: Bus;
  clock: Clock;
  logger: Logger;
  secretBox: SecretBox;
  runtime: Runtime;
  storage: WorkloadStorage | null;
}

/** Creates the loops that keep images ready for starts. */
export function createImageLoops(config: Config, parts: Parts, releaseImages: ReleaseImages): Loop[] {
  return [
    new ImagePuller({ ...parts, releaseImages, isOn: config.pullAhead }),
    new ImageResolver({ ...parts, releaseImages }),
  ];
}

/** Creates the loops that keep records, files and images in order. Nobody waits for them in the first second of a term. */
export function createHousekeeping(
  config: Config,
  { pool, bus, clock, logger, runtime, secretBox, storage }: Parts,
  { logs, capacity }: { logs: LogCollector; capacity: CapacityLedger },
): Loop[] {
  const budgets = budgetLoop({ pool, bus, logger });
  const loops: Loop[] = [
    budgets,
    usageLoop({ pool, logger, onMetered: () => budgets.wake() }),
    historyLoop({ pool, logger }),
    cleanUpLoop({ pool, clock, logger, limits: config.limits }),
    userRemovalLoop({ pool, bus, logger }),
    lostProgramLoop({ pool, bus, logger, runtime }),
  ];
  if (runtime.evictions) loops.push(evictionGuardLoop({ pool, logger, guard: runtime.evictions }));
  if (runtime.keepImages) loops.push(keptImagesLoop({ pool, logger, runtime }));
  if (storage) loops.push(new VolumeKeeper({ pool, bus, logger, logs, storage }));
  const fileServers = storage?.fileServers;
  if (fileServers) loops.push(fileServersLoop({ pool, bus, logger, secretBox, fileServers }));
  if (runtime instanceof ShortageRuntime) {
    const onChange = () => {
      capacity.forget();
      bus.publish('worker', ''); // workers without a place are placed again
    };
    loops.push(incidentLoop({ pool, bus, logger, runtime, onChange }));
  }
  return loops;
}
