import { messageOf } from '../../core/errors.ts';
import { Loop } from '../../core/flow/loop.ts';
import type { Logger } from '../../core/logger.ts';
import type { Bus } from '../../db/bus.ts';
import type { Pool } from '../../db/pool.ts';
import { findSimulation, takeIncidents } from '../../domain/simulation/simulation.ts';
import type { ShortageRuntime } from '../../runtimes/shortage/shortage-runtime.ts';

const TICK_MS = 60_000;

interface Deps {
  pool: Pool;
  bus: Bus;
  logger: Logger;
  runtime: ShortageRuntime;
  /** Called after each run: remembered capacity is out of date. */
  onChange: () => void;
}

/** Applies the simulated shortage that was requested to the leader's runtime, and carries incidents out. */
export function incidentLoop({ pool, bus, logger, runtime, onChange }: Deps): Loop {
  return new Loop({
    name: 'run-incidents',
    tickMs: TICK_MS,
    logger,
    subscribe: (wake) => [bus.subscribe('simulation', wake)],
    runOnce: async () => {
      const simulation = await findSimulation(pool);
      if (simulation) runtime.simulate(simulation);
      for (const incident of await takeIncidents(pool)) {
        logger.info({ incident }, 'simulating incident');
        void runtime
          .happen(incident)
          .catch((error) => logger.error({ incident, err: error }, `simulated incident failed: ${messageOf(error)}`));
      }
      onChange();
      return undefined;
    },
  });
}
