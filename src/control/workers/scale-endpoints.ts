import { Batcher } from '../../core/batcher.ts';
import type { Clock } from '../../core/clock.ts';
import { messageOf } from '../../core/errors.ts';
import { type EndpointId, newId, type WorkerId } from '../../core/ids.ts';
import type { Logger } from '../../core/logger.ts';
import { Loop, type NextRun } from '../../core/loop.ts';
import type { Bus } from '../../db/bus.ts';
import type { Pool } from '../../db/pool.ts';
import { type DecidedAction, type Decision, recordDecisions } from '../../domain/decisions/record-decision.ts';
import {
  type EndpointDemand,
  listActiveEndpoints,
  listEndpointDemand,
} from '../../domain/endpoints/endpoint-demand.ts';
import { listFreezingWorkers } from '../../domain/workers/frozen-workers.ts';
import { type OrderKind, orderWorkers, type WorkerOrder } from '../../domain/workers/order-workers.ts';
import {
  type ControlledWorker,
  insertWorkers,
  listControlledWorkers,
  type NewWorker,
} from '../../domain/workers/worker-lifecycle.ts';
import { decideWorkers, type ScalingAction, type ScalingDecision } from '../../scaling/decide-workers.ts';
import { reservedBytes } from '../../scaling/frozen-workers.ts';
import type { ScalingEndpoint, ScalingInput, ScalingWorker } from '../../scaling/situation.ts';

const TICK_MS = 5_000;
/** At each tick so many endpoints are looked at without a hint, in steps: a hint may have been lost. */
const SWEEP_STEP = 50;
const SWEEP_STEPS = 20;
/** An endpoint under steady load is looked at four times a second at most; one that was quiet, at once. */
const MIN_INTERVAL_MS = 250;
/** After a decision that could not be written down. */
const RETRY_MS = 1_000;
/**
 * Activity is written with a delay of half a second: only a worker that was seen idle, with the same last work, for
 * longer than that is certainly idle. It also keeps a control process that has just started from stopping anything.
 */
const CERTAIN_AFTER_MS = 1_500;

/** Decides for each endpoint how many workers it shall have, and writes that down. Others start and stop them. */
export class EndpointScaler {
  readonly #pool: Pool;
  readonly #bus: Bus;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #loop: Loop;
  /** Endpoints to look at, with the time from which on. */
  readonly #due = new Map<EndpointId, number>();
  readonly #lastLookAt = new Map<EndpointId, number>();
  readonly #idle = new Map<WorkerId, { lastWorkAt: number; firstSeenAt: number }>();
  readonly #inserts: Batcher<NewWorker, boolean>;
  readonly #orders: Record<OrderKind, Batcher<WorkerOrder, boolean>>;
  readonly #records: Batcher<Decision & { endpointId: EndpointId }, undefined>;
  /** Endpoints whose last decision is being carried out: they are not looked at again before that is done. */
  readonly #applying = new Map<EndpointId, Promise<void>>();
  #unsubscribes: (() => void)[] = [];
  #sweptAt = 0;
  #sweepAfterId = '';
  #sweepSteps = 0;
  #startedAt = Number.NEGATIVE_INFINITY;
  /** All endpoints have been looked at since the start. */
  #hasSeenAll = true;
  readonly #frozenBudget: () => Promise<number>;

  /** `frozenBudget`: what frozen workers may hold in all, in bytes; 0 where nothing can or may be frozen. */
  constructor(options: {
    pool: Pool;
    bus: Bus;
    clock: Clock;
    logger: Logger;
    frozenBudget: () => Promise<number>;
  }) {
    this.#frozenBudget = options.frozenBudget;
    this.#pool = options.pool;
    this.#bus = options.bus;
    this.#clock = options.clock;
    this.#logger = options.logger;
    const batches = { lanes: 2, maxSize: 500, isCallFault: () => false };
    this.#inserts = new Batcher({
      ...batches,
      flush: async (workers) => {
        const inserted = await insertWorkers(this.#pool, workers);
        return workers.map(({ id }) => inserted.has(id));
      },
    });
    const ordersOf = (kind: OrderKind) =>
      new Batcher<WorkerOrder, boolean>({
        ...batches,
        flush: async (orders) => {
          const told = await orderWorkers(this.#pool, kind, orders);
          return orders.map(({ id }) => told.has(id));
        },
      });
    this.#orders = {
      thaw: ordersOf('thaw'),
      freeze: ordersOf('freeze'),
      stop: ordersOf('stop'),
      drain: ordersOf('drain'),
    };
    this.#records = new Batcher({
      ...batches,
      flush: async (decisions) => {
        await recordDecisions(this.#pool, decisions);
        return decisions.map(() => undefined);
      },
    });
    this.#loop = new Loop({
      name: 'scale-endpoints',
      tickMs: TICK_MS,
      logger: options.logger,
      runOnce: () => this.#run(),
    });
  }

  start(): void {
    this.#unsubscribes = [
      this.#bus.subscribe('endpoint', (id) => this.#lookAtOnce(id as EndpointId)),
      this.#bus.subscribe('demand', (id) => this.wake(id as EndpointId)),
    ];
    this.#startedAt = this.#clock.now();
    this.#hasSeenAll = false;
    this.#sweepAfterId = '';
    this.#loop.start();
  }

  async stop(): Promise<void> {
    for (const unsubscribe of this.#unsubscribes) unsubscribe();
    await this.#loop.stop();
    await this.#applied();
  }

  /** Something changed that may change the answer for this endpoint. */
  wake(endpointId: EndpointId): void {
    const now = this.#clock.now();
    const at = Math.min(this.#lastLookAt.get(endpointId) ?? 0, now) + MIN_INTERVAL_MS; // the clock may have been set back
    if (!this.#setDue(endpointId, at)) return;
    const waitMs = at - now;
    if (waitMs <= 0) this.#loop.wake();
    else setTimeout(() => this.#loop.wake(), waitMs);
  }

  /** Its settings changed: whoever changed them waits for the effect, so the interval does not count. */
  #lookAtOnce(endpointId: EndpointId): void {
    this.#due.set(endpointId, 0);
    this.#loop.wake();
  }

  /** One look at everything that is due; tests use it. */
  async runOnce(): Promise<void> {
    await this.#loop.runOnce();
    await this.#applied();
  }

  async #applied(): Promise<void> {
    await Promise.all(this.#applying.values());
  }

  async #run(): Promise<NextRun> {
    const now = this.#clock.now();
    if (Math.abs(now - this.#sweptAt) >= TICK_MS) {
      this.#sweptAt = now;
      this.#sweepSteps = SWEEP_STEPS;
    }
    if (this.#sweepSteps > 0) await this.#sweep();
    const ids = [...this.#due].filter(([id, at]) => at <= now && !this.#applying.has(id)).map(([id]) => id);
    for (const id of ids) {
      this.#due.delete(id);
      this.#lastLookAt.set(id, now);
    }
    if (ids.length > 0) await this.#scale(ids, now);
    if (this.#lastLookAt.size > 10_000) this.#lastLookAt.clear();
    if (this.#idle.size > 50_000) this.#idle.clear(); // some have ended; the others are certainly idle a little later
    if (this.#sweepSteps > 0) return { atMs: now };
    let atMs = this.#sweptAt + TICK_MS;
    for (const [id, at] of this.#due) if (!this.#applying.has(id)) atMs = Math.min(atMs, at);
    return { atMs };
  }

  /** One step: small, so that a hint does not wait for long. The first round after a start goes to the end at once. */
  async #sweep(): Promise<void> {
    const { ids, lastId } = await listActiveEndpoints(this.#pool, this.#sweepAfterId, SWEEP_STEP);
    for (const id of ids) this.#due.set(id, 0);
    this.#sweepAfterId = lastId ?? '';
    if (this.#hasSeenAll) this.#sweepSteps -= 1;
    if (lastId !== null) return;
    this.#hasSeenAll = true;
    this.#sweepSteps = 0;
  }

  async #scale(ids: readonly EndpointId[], now: number): Promise<void> {
    const [demands, workers] = await Promise.all([
      listEndpointDemand(this.#pool, ids),
      listControlledWorkers(this.#pool, { endpointIds: ids }),
    ]);
    const budgetBytes = await this.#frozenBudget();
    const mayFreeze =
      budgetBytes > 0 &&
      demands.some(({ flashboot }) => flashboot === 'FLASHBOOT') &&
      workers.some(({ wanted, phase, leased }) => wanted === 'RUN' && phase === 'RUNNING' && leased === 0);
    const frozen = mayFreeze ? await this.#listFrozen() : []; // on the way to a thaw every look counts
    const workersOf = Map.groupBy(workers, (worker) => worker.endpointId);
    for (const demand of demands) {
      const endpoint = toScalingEndpoint(demand, budgetBytes > 0);
      const own = workersOf.get(demand.id) ?? [];
      const decision = decideWorkers({
        endpoint,
        demand: { ...demand, oldestQueuedAt: demand.oldestQueuedAt?.getTime() ?? null },
        workers: own.map((worker) => this.#toScalingWorker(worker, now)),
        failedStarts: toFailedStarts(demand),
        frozenMemory: { budgetBytes, reservedBytes: reservedBytes(endpoint.flashboot, frozen) },
        hasObserved: this.#hasSeenAll && now - this.#startedAt >= TICK_MS,
        now,
      });
      const isQuiet = own.every(({ wanted }) => wanted === 'FREEZE') && decision.actions.length === 0;
      if (isQuiet) this.#lastLookAt.delete(demand.id); // from zero, and from frozen, at once
      if (decision.nextAt !== null) this.#setDue(demand.id, Math.max(decision.nextAt, now + MIN_INTERVAL_MS));
      if (decision.actions.length > 0) this.#carryOut(demand.id, decision);
    }
  }

  /** Nobody waits for it but this endpoint: what is written at the same moment shares statements, and others go on. */
  #carryOut(id: EndpointId, decision: ScalingDecision): void {
    const applied = this.#apply(id, decision)
      .catch((error) => {
        this.#logger.error({ endpointId: id, err: error }, `a decision was not carried out: ${messageOf(error)}`);
        this.#setDue(id, this.#clock.now() + RETRY_MS);
      })
      .finally(() => {
        this.#applying.delete(id);
        if (this.#due.has(id)) this.#loop.wake();
      });
    this.#applying.set(id, applied);
  }

  async #listFrozen() {
    const frozen = await listFreezingWorkers(this.#pool);
    return frozen.map((worker) => ({ ...worker, frozenAt: worker.frozenAt?.getTime() ?? 0 }));
  }

  /** The earliest time counts: a wake must not wait for a look that was planned for later, nor the other way round. */
  #setDue(endpointId: EndpointId, at: number): boolean {
    const known = this.#due.get(endpointId);
    if (known !== undefined && known <= at) return false;
    this.#due.set(endpointId, at);
    return true;
  }

  async #apply(endpointId: EndpointId, decision: ScalingDecision): Promise<void> {
    const tried = decision.actions.map(async (action): Promise<DecidedAction[]> => {
      const workerId = await this.#act(endpointId, action);
      if (workerId === null) return [];
      this.#logger.info({ endpointId, workerId, action: action.kind, reason: action.reason }, 'scaling');
      this.#bus.publish('worker', workerId);
      return [{ kind: action.kind, workerId, reason: action.reason }];
    });
    const actions = (await Promise.all(tried)).flat();
    if (actions.length === 0) return;
    const { wanted, reason, inputs } = decision;
    await this.#records.run({ endpointId, at: new Date(decision.at), wanted, reason, inputs, actions });
  }

  /** The worker it concerns; null when there is nothing to be done any more. */
  async #act(endpointId: EndpointId, action: ScalingAction): Promise<WorkerId | null> {
    if (action.kind === 'start') {
      const { pause, reason } = action;
      const id = newId<WorkerId>();
      const worker = { id, endpointId, reason, pause: pause && { ...pause, until: new Date(pause.until) } };
      return (await this.#inserts.run(worker)) ? id : null;
    }
    const id = action.workerId as WorkerId;
    return (await this.#orders[action.kind].run({ id, reason: action.reason })) ? id : null;
  }

  #toScalingWorker(worker: ControlledWorker, now: number): ScalingWorker {
    const isReady = worker.phase === 'RUNNING' && worker.readyAt !== null;
    const isIdle = isReady && worker.leased === 0 && worker.wanted === 'RUN';
    const lastWorkAt = latest(worker.readyAt, worker.lastWorkAt, worker.thawedAt);
    const state = stateOf(worker, isReady);
    return {
      id: worker.id,
      version: worker.version,
      state,
      leased: worker.leased,
      createdAt: latest(worker.createdAt, worker.thawWantedAt),
      hasWorked: worker.lastWorkAt !== null,
      memoryBytes: worker.memoryBytes ?? 0, // before the first freeze: whoever freezes it measures, and may refuse
      frozenAt: worker.frozenAt?.getTime() ?? null,
      idleSince: isIdle ? lastWorkAt : null,
      certainlyIdleAt: isIdle ? this.#certainlyIdleAt(worker.id, lastWorkAt, now) : this.#forgetIdle(worker.id),
    };
  }

  #certainlyIdleAt(id: WorkerId, lastWorkAt: number, now: number): number {
    const seen = this.#idle.get(id);
    if (seen?.lastWorkAt === lastWorkAt && seen.firstSeenAt <= now) return seen.firstSeenAt + CERTAIN_AFTER_MS;
    this.#idle.set(id, { lastWorkAt, firstSeenAt: now });
    return now + CERTAIN_AFTER_MS;
  }

  #forgetIdle(id: WorkerId): null {
    this.#idle.delete(id);
    return null;
  }
}

function stateOf({ wanted, phase }: ControlledWorker, isReady: boolean): ScalingWorker['state'] {
  if (wanted === 'FREEZE') return 'frozen';
  if (wanted !== 'RUN') return 'leaving';
  if (isReady) return 'ready';
  return phase === 'PENDING' ? 'pending' : 'starting';
}

function latest(...times: (Date | null)[]): number {
  return Math.max(...times.map((time) => time?.getTime() ?? 0));
}

function toScalingEndpoint(demand: EndpointDemand, canFreeze: boolean): ScalingEndpoint {
  return {
    min: demand.min,
    max: demand.max,
    scaler: { type: demand.scalerType, value: demand.scalerValue },
    idleTimeoutMs: demand.idleTimeoutSeconds * 1000,
    version: demand.version,
    flashboot: canFreeze ? demand.flashboot : 'OFF',
    isRolloutPaused: demand.isRolloutPaused,
  };
}

function toFailedStarts({ failedStarts, lastFailedAt, lastFailure }: EndpointDemand): ScalingInput['failedStarts'] {
  if (lastFailedAt === null) return null;
  return { count: failedStarts, lastAt: lastFailedAt.getTime(), lastReason: lastFailure };
}
