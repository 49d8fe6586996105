import type { Clock } from '../../core/clock.ts';
import type { EndpointId } from '../../core/ids.ts';
import type { Logger } from '../../core/logger.ts';
import { Loop, type NextRun } from '../../core/loop.ts';
import type { Bus } from '../../db/bus.ts';
import type { Pool } from '../../db/pool.ts';
import {
  deleteRequestDemand,
  type RequestDemand,
  SAY_SEEN_MS,
  writeRequestDemand,
} from '../../domain/endpoints/request-demand.ts';
import type { RequestBalancer } from './request-balancer.ts';

/** Four writes a second, for all endpoints together. */
const MIN_INTERVAL_MS = 250;

interface Reported {
  balancer: RequestBalancer;
  isDirty: boolean;
  /** Held and in flight, as last written. */
  total: number;
}

/**
 * Writes down what this process has to do for each load-balancing endpoint, for the scaler and for whoever stops workers.
 * The first request after none is written at once, so that even one that is over before the next write has woken the
 * scaler; other changes gather for a quarter of a second. A change costs the request that makes it a look at two fields.
 */
export class DemandReporter {
  readonly #pool: Pool;
  readonly #bus: Bus;
  readonly #clock: Clock;
  readonly #loop: Loop;
  readonly #reported = new Map<EndpointId, Reported>();
  #dueTimer: NodeJS.Timeout | undefined;
  #writtenAt = 0;
  #fullAt = 0;

  constructor(options: { pool: Pool; bus: Bus; clock: Clock; logger: Logger }) {
    this.#pool = options.pool;
    this.#bus = options.bus;
    this.#clock = options.clock;
    this.#loop = new Loop({
      name: 'request-demand',
      tickMs: SAY_SEEN_MS,
      logger: options.logger,
      runOnce: () => this.#write(),
    });
  }

  start(): void {
    this.#loop.start();
  }

  /** What it wrote holds no longer. */
  async stop(): Promise<void> {
    clearTimeout(this.#dueTimer);
    await this.#loop.stop();
    await deleteRequestDemand(this.#pool, this.#bus.processId, null).catch(() => {});
  }

  add(endpointId: EndpointId, balancer: RequestBalancer): void {
    this.#reported.set(endpointId, { balancer, isDirty: false, total: 0 });
  }

  async remove(endpointId: EndpointId): Promise<void> {
    this.#reported.delete(endpointId);
    await deleteRequestDemand(this.#pool, this.#bus.processId, [endpointId]);
  }

  /** `isUrgent`: the workers in use changed, and somebody may wait to stop one. */
  recordChange(endpointId: EndpointId, isUrgent: boolean): void {
    const reported = this.#reported.get(endpointId);
    if (!reported || (reported.isDirty && !isUrgent)) return;
    reported.isDirty = true;
    if (isUrgent || (reported.total === 0 && totalOf(reported) > 0)) this.#loop.wake();
    else this.#dueTimer ??= setTimeout(() => this.#loop.wake(), this.#untilDueMs());
  }

  #untilDueMs(): number {
    return Math.max(0, this.#writtenAt + MIN_INTERVAL_MS - this.#clock.now());
  }

  async #write(): Promise<NextRun | undefined> {
    clearTimeout(this.#dueTimer);
    this.#dueTimer = undefined;
    if (this.#reported.size === 0) return undefined;
    const now = this.#clock.now();
    const isFull = now - this.#fullAt >= SAY_SEEN_MS; // whatever became of the rows: who waits is heard
    if (isFull) this.#fullAt = now;
    const due = [...this.#reported].filter(([, entry]) => entry.isDirty || (isFull && totalOf(entry) > 0));
    const demands = due.map(([endpointId, reported]) => this.#take(endpointId, reported));
    this.#writtenAt = now;
    try {
      await writeRequestDemand(this.#pool, this.#bus.processId, demands);
    } catch (error) {
      for (const [, reported] of due) reported.isDirty = true;
      throw error;
    }
    for (const { endpointId } of demands) this.#bus.publish('demand', endpointId);
    return undefined;
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
