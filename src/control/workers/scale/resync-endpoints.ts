import type { Clock } from '../../../core/clock.ts';
import { Loop, type NextRun } from '../../../core/flow/loop.ts';
import type { EndpointId } from '../../../core/ids.ts';
import type { Logger } from '../../../core/logger.ts';
import type { Pool } from '../../../db/pool.ts';
import { listActiveEndpoints } from '../../../domain/endpoints/endpoint-demand.ts';

/** How often a resync begins. */
export const TICK_MS = 5_000;
/** While no endpoint has, or should have, workers or work. */
export const REST_TICK_MS = 30_000;
/**
 * Each tick resyncs some endpoints in steps, spread over the tick: a step looks at so many and polls those that are active, up to a
 * limit.
 */
const STEPS = 20;
const STEP = { range: 500, limit: 50 };

interface Deps {
  demandPool: Pool;
  /** Measures intervals. */
  monotonic: Clock;
  logger: Logger;
  /** Scales endpoints, unless that is about to happen anyway. Returns for how many that means to start workers. */
  scale: (ids: readonly EndpointId[]) => Promise<number>;
}

/**
 * Finds the endpoints that the scaler has to look at although no hint has named them, because hints may be lost. Runs beside the
 * scaler's loop, so that no hint waits for it.
 */
export class EndpointResync {
  readonly #deps: Deps;
  readonly #loop: Loop;
  #begunAt = Number.NEGATIVE_INFINITY;
  #afterId = '';
  #stepsLeft = 0;
  /** Any endpoint was polled since the resync last began with the first one. */
  #foundActive = false;
  /** The resync has seen all endpoints, and none is active. */
  #isAtRest = false;
  #hasSeenAll = true;

  constructor(deps: Deps) {
    this.#deps = deps;
    const runOnce = () => this.#step();
    this.#loop = new Loop({ name: 'resync-endpoints', tickMs: REST_TICK_MS, logger: deps.logger, runOnce });
  }

  /** Every endpoint has been polled since the start. */
  get hasSeenAll(): boolean {
    return this.#hasSeenAll;
  }

  start(): void {
    this.#hasSeenAll = false;
    this.#afterId = '';
    this.#foundActive = true;
    this.#isAtRest = false;
    this.#loop.start();
  }

  stop(): Promise<void> {
    return this.#loop.stop();
  }

  runOnce(): Promise<void> {
    return this.#loop.runOnce();
  }

  /** Hints may have been missed: begins at once. */
  hurry(): void {
    this.#begunAt = Number.NEGATIVE_INFINITY;
    this.#loop.wake();
  }

  /** A hint has named an endpoint: there is no rest. */
  noteActivity(): void {
    this.#foundActive = true;
    if (!this.#isAtRest) return;
    this.#isAtRest = false;
    this.#loop.wake();
  }

  /**
   * The first resync after a start goes to the end without a break, as does any other while it finds workers to start: then many
   * hints were lost.
   */
  async #step(): Promise<NextRun> {
    const dueInMs = this.#beginIfDue();
    if (this.#stepsLeft === 0) return { inMs: dueInMs };
    const { ids, lastId } = await listActiveEndpoints(this.#deps.demandPool, this.#afterId, STEP);
    this.#afterId = lastId ?? '';
    if (this.#hasSeenAll) this.#stepsLeft -= 1;
    if (ids.length > 0) this.#foundActive = true;
    if (lastId === null) this.#end();
    const starting = await this.#deps.scale(ids);
    if (starting > 0) this.#stepsLeft = Math.max(this.#stepsLeft, 1);
    return { inMs: starting > 0 || !this.#hasSeenAll ? 0 : TICK_MS / STEPS };
  }

  /** Returns after how many ms the next resync is due. */
  #beginIfDue(): number {
    const now = this.#deps.monotonic.now();
    const dueAt = this.#begunAt + (this.#isAtRest ? REST_TICK_MS : TICK_MS);
    if (dueAt > now) return dueAt - now;
    this.#begunAt = now;
    this.#stepsLeft = STEPS;
    return dueAt - now;
  }

  /** All endpoints were seen. */
  #end(): void {
    this.#isAtRest = !this.#foundActive;
    this.#foundActive = false;
    this.#hasSeenAll = true;
    this.#stepsLeft = 0;
  }
}
