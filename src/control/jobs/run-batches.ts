import { type Clock, monotonicClock } from '../../core/clock.ts';
import { Loop, type NextRun } from '../../core/flow/loop.ts';
import type { EndpointId } from '../../core/ids.ts';
import type { Logger } from '../../core/logger.ts';
import { SeldomLog } from '../../core/seldom-log.ts';
import type { Bus } from '../../db/bus.ts';
import type { Pool } from '../../db/pool.ts';
import type { BatchId } from '../../domain/batches/batch.ts';
import { endBatch } from '../../domain/batches/change-batch.ts';
import {
  type BatchAction,
  type BatchFacts,
  decideBatch,
  nextAgingAt,
  numbersAt,
} from '../../domain/batches/decide-batch.ts';
import {
  feedBatch,
  listRunningBatches,
  noteBatch,
  promoteOldestJob,
  type RunningBatch,
} from '../../domain/batches/running-batches.ts';
import { readWorkerPrice } from '../../domain/billing/current-rates.ts';
import type { JobQueue } from '../../domain/jobs/job-queue.ts';
import { limitsOfRow } from '../../domain/quotas/limit-store.ts';
import type { NotifyDispatch } from './rescue-jobs.ts';

const TICK_MS = 5_000;
/** While no batch runs. */
const REST_TICK_MS = 30_000;
/** Jobs of an endpoint end by the thousand a second: its batches are looked at this often at most. */
const MIN_INTERVAL_MS = 50;
/** Looking takes at most this share of the time. */
const MAX_SHARE = 0.2;
/** Requests that the estimate of the cost is based on. */
const MEASURED_REQUESTS = 100;

interface Deps {
  readonly pool: Pool;
  readonly queue: JobQueue;
  readonly bus: Bus;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly notify: Pick<NotifyDispatch, 'queued' | 'ended'>;
  readonly retentionMs: number;
}

/**
 * Runs finalized batches: queues their requests in small portions, takes those of cancelled ones back, and ends them. Observes
 * with one statement, decides with `decideBatch`, and each action is one statement or transaction that can be repeated, so that
 * a killed process loses nothing and does nothing twice.
 */
export class BatchRunner {
  readonly #log: SeldomLog;
  readonly #deps: Deps;
  readonly #monotonic: Clock;
  readonly #loop: Loop;
  readonly #due = new Set<EndpointId>();
  /** Endpoints with running batches, as of the last look: the hints of others are ignored. */
  #running = new Set<EndpointId>();
  #resyncedAt = Number.NEGATIVE_INFINITY;
  #nextLookAt = Number.NEGATIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;

  constructor({ monotonic = monotonicClock, ...deps }: Deps & { monotonic?: Clock }) {
    this.#deps = deps;
    this.#log = new SeldomLog(deps.logger);
    this.#monotonic = monotonic;
    this.#loop = new Loop({
      name: 'run-batches',
      tickMs: REST_TICK_MS,
      logger: deps.logger,
      runOnce: () => this.#run(),
      subscribe: (wake) => [
        deps.bus.subscribe('batch', (endpointId) => this.#look(endpointId as EndpointId)),
        deps.bus.subscribe('endpoint', (endpointId) => this.#lookIfRunning(endpointId as EndpointId)),
        deps.bus.subscribe('demand', (endpointId) => this.#lookIfRunning(endpointId as EndpointId)),
        deps.bus.onGap(() => {
          this.#resyncedAt = Number.NEGATIVE_INFINITY;
          wake();
        }),
      ],
    });
  }

  start(): void {
    this.#resyncedAt = Number.NEGATIVE_INFINITY;
    this.#loop.start();
  }

  async stop(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    await this.#loop.stop();
    this.#log.close();
  }

  /** One look at every running batch, for tests. */
  async runOnce(): Promise<void> {
    this.#resyncedAt = Number.NEGATIVE_INFINITY;
    this.#nextLookAt = Number.NEGATIVE_INFINITY;
    await this.#loop.runOnce();
  }

  #lookIfRunning(endpointId: EndpointId): void {
    if (this.#running.has(endpointId)) this.#look(endpointId);
  }

  #look(endpointId: EndpointId): void {
    this.#due.add(endpointId);
    if (this.#timer !== undefined) return;
    const delayMs = Math.max(0, this.#nextLookAt - this.#monotonic.now());
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#loop.wake();
    }, delayMs);
  }

  async #run(): Promise<NextRun> {
    const startedAt = this.#monotonic.now();
    const isResync = startedAt - this.#resyncedAt >= TICK_MS;
    const ids = isResync ? null : [...this.#due];
    this.#due.clear();
    if (ids?.length === 0) return { inMs: this.#tickMs };
    const batches = await listRunningBatches(this.#deps.pool, ids);
    if (isResync) {
      this.#resyncedAt = startedAt;
      this.#running = new Set();
    } else for (const id of ids!) this.#running.delete(id);
    let nextAt: number | null = null;
    for (const batch of batches) {
      this.#running.add(batch.endpointId);
      const at = await this.#advance(batch).catch((error: unknown) => this.#onError(batch, error));
      if (at !== null && (nextAt === null || at < nextAt)) nextAt = at;
    }
    const now = this.#monotonic.now();
    this.#nextLookAt = now + Math.max(MIN_INTERVAL_MS, (now - startedAt) / MAX_SHARE);
    if (nextAt === null) return { inMs: this.#tickMs };
    return { inMs: Math.min(this.#tickMs, Math.max(MIN_INTERVAL_MS, nextAt - this.#deps.clock.now())) };
  }

  get #tickMs(): number {
    return this.#running.size > 0 ? TICK_MS : REST_TICK_MS;
  }

  /** Takes the batch's next step. Returns when it should be looked at again, if no hint comes before; null: at the tick. */
  async #advance(batch: RunningBatch): Promise<number | null> {
    const now = this.#deps.clock.now();
    const facts = toFacts(batch);
    const action = decideBatch(facts, now);
    await this.#note(batch, action.do === 'wait' ? action.reason : null);
    if (action.do === 'wait') return nextAgingAt(facts);
    if (await this.#carryOut(batch, action)) this.#look(batch.endpointId);
    return null;
  }

  /** True if the batch should be looked at again at once. */
  async #carryOut(batch: RunningBatch, action: Exclude<BatchAction, { do: 'wait' }>): Promise<boolean> {
    const { pool, queue, bus, logger, notify, retentionMs } = this.#deps;
    const fields = { endpointId: batch.endpointId, batchId: batch.id };
    switch (action.do) {
      case 'feed':
        return this.#feed(batch, action);
      case 'promote':
        logger.info(fields, 'batch waited long: one of its jobs joins the normal queue');
        if (await promoteOldestJob(pool, this.#lane('promote'), batch.id)) notify.queued(batch.endpointId);
        return true;
      case 'withdraw':
        notify.ended(await queue.cancelBatch(batch.id));
        return true;
      case 'end': {
        const { status, reason } = action;
        if (!(await endBatch(pool, batch.id, { status, reason, retentionMs }))) return true;
        logger.info({ ...fields, status }, 'batch ended');
        bus.publish('webhook', '');
        return false;
      }
    }
  }

  async #feed(batch: RunningBatch, { places, maxBytes }: { places: number; maxBytes: number }): Promise<boolean> {
    const { pool, bus, notify } = this.#deps;
    const { id, endpointId, fedTo, received, isOrdered } = batch;
    const numbers = numbersAt(fedTo, places, { total: received, isOrdered });
    const count = await feedBatch(pool, this.#lane('feed'), { id, fedTo, numbers, maxBytes });
    if (count > 0) {
      notify.queued(endpointId);
      bus.publish('demand', endpointId);
    }
    return count < numbers.length; // gaps between the numbers, or a large request
  }

  /** Writes what changed: why the batch waits, and, once a hundred requests have run, how long they took. */
  async #note({ id, hasEstimate, executed, executionMs, accepted, ...batch }: RunningBatch, reason: string | null) {
    const isMeasured = !hasEstimate && executed >= Math.min(MEASURED_REQUESTS, accepted);
    if (batch.isCancelling || (reason === batch.reason && !isMeasured)) return;
    const { pool } = this.#deps;
    const usdPerHour = isMeasured ? await readWorkerPrice(pool, batch.endpointId) : null;
    const measured = isMeasured ? { requests: executed, executionMs: Math.round(executionMs), usdPerHour } : null;
    await noteBatch(pool, { id, reason, measured });
  }

  /** One batch must not hold up the others. */
  #onError({ id, endpointId }: { id: BatchId; endpointId: EndpointId }, error: unknown): null {
    this.#log.error({ endpointId, batchId: id, err: error }, 'running a batch failed');
    return null;
  }

  #lane(kind: string): string {
    return `${this.#deps.bus.processId}/${kind}`;
  }
}

function toFacts(batch: RunningBatch): BatchFacts {
  return { ...batch, oldestQueuedAt: batch.oldestQueuedAt?.getTime() ?? null, limits: limitsOfRow(batch) };
}
