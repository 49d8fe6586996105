import type { Clock } from '../../core/clock.ts';
import { Loop, type NextRun } from '../../core/flow/loop.ts';
import type { EndpointId } from '../../core/ids.ts';
import type { Logger } from '../../core/logger.ts';
import type { Bus } from '../../db/bus.ts';
import type { Pool } from '../../db/pool.ts';
import {
  DEMAND_HEARTBEAT_MS,
  deleteRequestDemand,
  type RequestDemand,
  writeRequestDemand,
} from '../../domain/endpoints/request-demand.ts';
import type { RequestBalancer } from './request-balancer.ts';

/** At most four writes per second, for all endpoints together. */
const MIN_INTERVAL_MS = 250;
/** While no endpoint is used. */
const IDLE_TICK_MS = 60_000;

interface Reported {
  balancer: RequestBalancer;
  isDirty: boolean;
  /** Held and in-flight requests, as last written. */
  total: number;
}

/**
 * Writes this process's demand for each load-balancing endpoint, for the scaler and for the loop that stops workers. The
 * first request after none is written at once, so that even a short one wakes the scaler; other changes are batched for a
 * quarter of a second. Recording a change costs a request two field reads.
 */
export class DemandReporter {
  readonly #deps: { readonly pool: Pool; readonly bus: Bus; readonly monotonic: Clock };
  readonly #loop: Loop;
  readonly #reported = new Map<EndpointId, Reported>();
  #dueTimer: NodeJS.Timeout | undefined;
  #writtenAt = Number.NEGATIVE_INFINITY;
  #writtenFullAt = Number.NEGATIVE_INFINITY;

  constructor(options: { pool: Pool; bus: Bus; monotonic: Clock; logger: Logger }) {
    this.#deps = options;
    this.#loop = new Loop({
      name: 'request-demand',
      tickMs: IDLE_TICK_MS,
      logger: options.logger,
      runOnce: () => this.#write(),
    });
  }

  start(): void {
    this.#loop.start();
  }

  /** Deletes what it wrote. */
  async stop(): Promise<void> {
    clearTimeout(this.#dueTimer);
    await this.#loop.stop();
    await deleteRequestDemand(this.#deps.pool, this.#deps.bus.processId, null).catch(() => {});
  }

  add(endpointId: EndpointId, balancer: RequestBalancer): void {
    this.#reported.set(endpointId, { balancer, isDirty: false, total: 0 });
    if (this.#reported.size === 1) this.#loop.wake(); // from now on at its heartbeat
  }

  async remove(endpointId: EndpointId): Promise<void> {
    this.#reported.delete(endpointId);
    await deleteRequestDemand(this.#deps.pool, this.#deps.bus.processId, [endpointId]);
  }

  /** `isUrgent`: the set of workers in use changed, and control may wait to stop one. */
  recordChange(endpointId: EndpointId, isUrgent: boolean): void {
    const reported = this.#reported.get(endpointId);
    if (!reported || (reported.isDirty && !isUrgent)) return;
    reported.isDirty = true;
    if (isUrgent || (reported.total === 0 && totalOf(reported) > 0)) this.#loop.wake();
    else this.#dueTimer ??= setTimeout(() => this.#loop.wake(), this.#untilDueMs());
  }

  #untilDueMs(): number {
    return Math.max(0, this.#writtenAt + MIN_INTERVAL_MS - this.#deps.monotonic.now());
  }

  async #write(): Promise<NextRun | undefined> {
    clearTimeout(this.#dueTimer);
    this.#dueTimer = undefined;
    if (this.#reported.size === 0) return undefined;
    const { pool, bus, monotonic } = this.#deps;
    const now = monotonic.now();
    const isFull = now - this.#writtenFullAt >= DEMAND_HEARTBEAT_MS; // rewrites rows that may have been lost
    if (isFull) this.#writtenFullAt = now;
    const due = [...this.#reported].filter(([, entry]) => entry.isDirty || (isFull && totalOf(entry) > 0));
    const demands = due.map(([endpointId, reported]) => this.#take(endpointId, reported));
    this.#writtenAt = now;
    try {
      await writeRequestDemand(pool, bus.processId, demands);
    } catch (error) {
      for (const [, reported] of due) reported.isDirty = true;
      throw error;
    }
    for (const { endpointId } of demands) bus.publish('demand', endpointId);
    return { inMs: DEMAND_HEARTBEAT_MS };
  }

  #take(endpointId: EndpointId, reported: Reported): RequestDemand {
    const { balancer } = reported;
    reported.isDirty = false;
    reported.total = totalOf(reported);
    const { held, inFlight, oldestHeldAt } = balancer;
    return { endpointId, held, inFlight, oldestHeldAt, workers: balancer.inUse() };
  }
}

function totalOf({ balancer }: Reported): number {
  return balancer.held + balancer.inFlight;
}
