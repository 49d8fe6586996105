import { messageOf } from '../../core/errors.ts';
import type { Logger } from '../../core/logger.ts';
import { Loop } from '../../core/loop.ts';
import type { Bus } from '../../db/bus.ts';
import type { Pool } from '../../db/pool.ts';
import { findSimulation, takeIncidents } from '../../domain/simulation/simulation.ts';
import type { ShortageRuntime } from '../../runtimes/shortage/shortage-runtime.ts';

const TICK_MS = 60_000;

/** Keeps the runtime of the process that leads pretending what was asked for, and lets incidents happen. */
export class IncidentRunner {
  readonly #pool: Pool;
  readonly #bus: Bus;
  readonly #logger: Logger;
  readonly #runtime: ShortageRuntime;
  readonly #onChange: () => void;
  readonly #loop: Loop;
  #unsubscribe = () => {};

  /** `onChange`: capacity that others remember is out of date. */
  constructor(options: { pool: Pool; bus: Bus; logger: Logger; runtime: ShortageRuntime; onChange: () => void }) {
    this.#pool = options.pool;
    this.#bus = options.bus;
    this.#logger = options.logger;
    this.#runtime = options.runtime;
    this.#onChange = options.onChange;
    this.#loop = new Loop({
      name: 'run-incidents',
      tickMs: TICK_MS,
      logger: options.logger,
      runOnce: () => this.#run(),
    });
  }

  start(): void {
    this.#unsubscribe = this.#bus.subscribe('simulation', () => this.#loop.wake());
    this.#loop.start();
  }

  stop(): Promise<void> {
    this.#unsubscribe();
    return this.#loop.stop();
  }

  async #run(): Promise<undefined> {
    const simulation = await findSimulation(this.#pool);
    if (simulation) this.#runtime.pretend(simulation);
    for (const incident of await takeIncidents(this.#pool)) {
      this.#logger.info({ incident }, 'a simulated incident happens');
      void this.#runtime
        .happen(incident)
        .catch((error) => this.#logger.error({ incident, err: error }, `it did not happen: ${messageOf(error)}`));
    }
    this.#onChange();
    return undefined;
  }
}
