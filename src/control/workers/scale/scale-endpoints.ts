import { BoundedMap } from '../../../core/bounded-map.ts';
import { type Clock, monotonicClock } from '../../../core/clock.ts';
import { Loop, type NextRun } from '../../../core/flow/loop.ts';
import type { EndpointId, UserId, WorkerId } from '../../../core/ids.ts';
import type { Logger } from '../../../core/logger.ts';
import { SeldomLog } from '../../../core/seldom-log.ts';
import type { Bus } from '../../../db/bus.ts';
import type { Pool } from '../../../db/pool.ts';
import { type EndpointDemand, listEndpointDemand } from '../../../domain/endpoints/endpoint-demand.ts';
import { type EndpointUser, isLimited, readEndpointUsers, readUses } from '../../../domain/quotas/endpoint-users.ts';
import { listFreezingWorkers } from '../../../domain/workers/frozen-workers.ts';
import { type ControlledWorker, listControlledWorkers } from '../../../domain/workers/worker-lifecycle.ts';
import { decideWorkers, type ScalingDecision } from '../../../scaling/decide-workers.ts';
import { type FrozenWorker, reservedBytes } from '../../../scaling/frozen-workers.ts';
import type { UserCut } from '../../../scaling/situation.ts';
import type { WantedWorker } from '../place/insert-workers.ts';
import { EndpointResync, REST_TICK_MS, TICK_MS } from './resync-endpoints.ts';
import { ScalingFacts, ScheduleClock, toFailedStarts, toScalingEndpoint } from './scaling-facts.ts';
import { ScalingWriter } from './scaling-writer.ts';
import { settleTrials } from './settle-trials.ts';
import { UserAllowances } from './user-allowances.ts';

/** Polled at once; with more, the first are written while the next are read. */
const MAX_AT_ONCE = 250;
/** An endpoint under steady load is polled at most four times a second; one that was quiet, at once. */
const MIN_INTERVAL_MS = 250;
/** The pause after a decision that could not be written. */
const RETRY_MS = 1_000;
const MAX_POLLED = 10_000;

interface Deps {
  pool: Pool;
  /**
   * Reads demand, one statement of hints and one of the resync at a time. Its plans should be generic: otherwise PostgreSQL plans the
   * demand of a few endpoints anew each time, which takes longer than reading it.
   */
  demandPool: Pool;
  bus: Bus;
  clock: Clock;
  /** Measures intervals. */
  monotonic: Clock;
  logger: Logger;
  /** The most bytes that all frozen workers together may hold; 0 where nothing can or may be frozen. */
  frozenBudget: () => Promise<number>;
  /** Called when workers are to be inserted, or are likely to be soon. */
  onStarting?: () => void;
  /** Called when a worker was ordered to thaw, before the hint. */
  onThaw?: (id: WorkerId, reason: string) => void;
  /** Inserts a worker and has it started; false: its endpoint is gone. */
  insert: (worker: WantedWorker) => Promise<boolean>;
}

/**
 * Decides how many workers each endpoint should have, and writes that down: new rows, and orders to freeze, thaw, drain and
 * stop. WorkerRunner and WorkerFreezer carry them out. Reads only endpoints that a hint named, and those of a resync (decision 0018).
 */
export class EndpointScaler {
  readonly #log: SeldomLog;
  readonly #deps: Deps;
  readonly #loop: Loop;
  readonly #resync: EndpointResync;
  readonly #facts = new ScalingFacts();
  readonly #writer: ScalingWriter;
  readonly #schedules = new ScheduleClock();
  readonly #allowances = new UserAllowances();
  /** Endpoints to poll, and when. This and all times below are monotonic. */
  readonly #due = new Map<EndpointId, number>();
  readonly #polledAt = new BoundedMap<EndpointId, number>(MAX_POLLED);
  /** The users with limits of endpoints, when last polled. */
  readonly #limitedUsers = new BoundedMap<EndpointId, UserId>(MAX_POLLED);
  /** Endpoints with an open trial when last polled: somebody waits until a worker is ready. */
  readonly #tried = new Set<EndpointId>();
  /** Endpoints that are being read. Neither they nor those whose last decision is being written are polled before that is done. */
  readonly #reading = new Set<EndpointId>();
  readonly #applying = new Map<EndpointId, Promise<void>>();
  #startedAt = Number.NEGATIVE_INFINITY;

  constructor({ monotonic = monotonicClock, ...deps }: Omit<Deps, 'monotonic'> & { monotonic?: Clock }) {
    const { pool, logger } = deps;
    this.#deps = { ...deps, monotonic };
    this.#log = new SeldomLog(deps.logger);
    this.#writer = new ScalingWriter(pool, deps.insert);
    this.#loop = new Loop({
      name: 'scale-endpoints',
      tickMs: REST_TICK_MS,
      logger,
      runOnce: () => this.#run(),
      subscribe: () => [
        deps.bus.subscribe('endpoint', (id) => this.#pollNow(id as EndpointId)),
        deps.bus.subscribe('demand', (id) => this.#poll(id as EndpointId)),
        deps.bus.subscribe('ready', (id) => this.#tried.has(id as EndpointId) && this.#pollNow(id as EndpointId)),
        deps.bus.onGap(() => this.#resync.hurry()),
      ],
    });
    this.#resync = new EndpointResync({ ...this.#deps, scale: (ids) => this.#scaleUnnamed(ids) });
  }

  start(): void {
    this.#startedAt = this.#deps.monotonic.now();
    this.#loop.start();
    this.#resync.start();
  }

  async stop(): Promise<void> {
    await Promise.all([this.#loop.stop(), this.#resync.stop()]);
    await this.#applied();
    this.#log.close();
  }

  /** Polls an endpoint as soon as its interval allows: something happened that may change the decision. */
  #poll(endpointId: EndpointId): void {
    const now = this.#deps.monotonic.now();
    const polledAt = this.#polledAt.get(endpointId);
    if (polledAt === undefined) this.#deps.onStarting?.(); // it was quiet, and its first job is likely to need a worker
    const at = (polledAt ?? Number.NEGATIVE_INFINITY) + MIN_INTERVAL_MS;
    if (!this.#setDue(endpointId, at)) return;
    if (at <= now) this.#loop.wake();
    else setTimeout(() => this.#loop.wake(), at - now);
  }

  /** Ignores the interval: a user waits for the effect of a change of the endpoint, or for the trial of a release. */
  #pollNow(endpointId: EndpointId): void {
    this.#due.set(endpointId, Number.NEGATIVE_INFINITY);
    this.#loop.wake();
  }

  /** One run over everything that is due, for tests. */
  async runOnce(): Promise<void> {
    for (const one of [this.#loop, this.#resync]) await one.runOnce();
    await this.#applied();
  }

  async #applied(): Promise<void> {
    await Promise.all(this.#applying.values());
  }

  async #run(): Promise<NextRun> {
    const now = this.#deps.monotonic.now();
    const ids = this.#takeDue(now);
    if (ids.length > 0) {
      this.#resync.noteActivity();
      await this.#scale(ids, now);
    }
    let nextAt = now + REST_TICK_MS;
    for (const [id, at] of this.#due) if (!this.#isBusy(id)) nextAt = Math.min(nextAt, at);
    return { inMs: nextAt - now };
  }

  #isBusy(id: EndpointId): boolean {
    return this.#reading.has(id) || this.#applying.has(id);
  }

  /** Takes endpoints that are due. */
  #takeDue(now: number): EndpointId[] {
    const ids: EndpointId[] = [];
    for (const [id, at] of this.#due) {
      if (at > now || this.#isBusy(id)) continue;
      if (ids.push(id) === MAX_AT_ONCE) break;
    }
    return ids;
  }

  /** Scales those of these endpoints that no hint has named just now, and that were not polled just now. */
  #scaleUnnamed(ids: readonly EndpointId[]): Promise<number> {
    const now = this.#deps.monotonic.now();
    const isDue = (id: EndpointId) => (this.#due.get(id) ?? Number.POSITIVE_INFINITY) <= now;
    const isRecent = (id: EndpointId) => now - (this.#polledAt.get(id) ?? Number.NEGATIVE_INFINITY) < MIN_INTERVAL_MS;
    return this.#scale(
      ids.filter((id) => !this.#isBusy(id) && !isDue(id) && !isRecent(id)),
      now,
    );
  }

  /** Reads endpoints, and decides about each. Returns for how many that means to start workers. */
  async #scale(ids: readonly EndpointId[], now: number): Promise<number> {
    if (ids.length === 0) return 0;
    for (const id of ids) {
      this.#due.delete(id);
      this.#polledAt.set(id, now);
      this.#reading.add(id);
    }
    const endRead = this.#allowances.beginRead();
    try {
      return await this.#readAndDecide(ids, now);
    } finally {
      endRead();
      for (const id of ids) this.#reading.delete(id);
      if (ids.some((id) => this.#due.has(id))) this.#loop.wake();
    }
  }

  async #readAndDecide(ids: readonly EndpointId[], now: number): Promise<number> {
    const { pool, demandPool, frozenBudget } = this.#deps;
    const likely = new Set(ids.flatMap((id) => this.#limitedUsers.get(id) ?? []));
    const [demands, workers, uses] = await Promise.all([
      listEndpointDemand(demandPool, ids),
      listControlledWorkers(pool, { endpointIds: ids }),
      readUses(pool, [...likely]),
    ]);
    const users = await readEndpointUsers(pool, demands, uses);
    for (const user of users.values()) {
      if (isLimited(user)) this.#limitedUsers.set(user.endpointId, user.userId);
      else this.#limitedUsers.delete(user.endpointId);
    }
    const budgetBytes = await frozenBudget();
    const frozen = mayFreeze(budgetBytes, demands, workers) ? await this.#listFrozen() : [];
    const workersOf = Map.groupBy(workers, (worker) => worker.endpointId);
    for (const id of ids) this.#tried.delete(id);
    for (const { id, trial } of demands) if (trial === 'ASKED') this.#tried.add(id);
    const settled = await settleTrials(this.#deps, demands);
    let starting = 0;
    for (const demand of demands) {
      if (settled.has(demand.id)) {
        this.#pollNow(demand.id);
        this.#deps.bus.publish('endpoint', demand.id);
        continue;
      }
      const own = workersOf.get(demand.id) ?? [];
      const user = users.get(demand.id)!;
      const userCut = this.#allowances.cut(user, demand.max, own);
      const decision = this.#decide(demand, own, { budgetBytes, frozen, userCut }, now);
      const isQuiet = own.every(({ wanted }) => wanted === 'FREEZE') && decision.actions.length === 0;
      if (isQuiet) this.#polledAt.delete(demand.id); // the next demand is served at once
      if (decision.nextAt !== null) {
        const waitMs = Math.max(decision.nextAt - decision.at, MIN_INTERVAL_MS);
        this.#setDue(demand.id, now + waitMs);
      }
      const isUncertain = decision.inputs.userCut !== undefined && this.#allowances.isAdding(user);
      if (isUncertain) this.#setDue(demand.id, now + MIN_INTERVAL_MS);
      const isNews = !isUncertain && this.#allowances.isNews(demand.id, decision);
      if (decision.actions.length > 0 || isNews) this.#apply(user, decision, demand);
      if (decision.actions.some(({ kind }) => kind === 'start')) starting += 1;
    }
    return starting;
  }

  #decide(
    demand: EndpointDemand,
    workers: readonly ControlledWorker[],
    { budgetBytes, frozen, userCut }: { budgetBytes: number; frozen: readonly FrozenWorker[]; userCut: UserCut | null },
    now: number,
  ): ScalingDecision {
    const wallNow = this.#deps.clock.now();
    const floor = demand.schedule && this.#schedules.floorOf(demand.id, demand.schedule, wallNow);
    const endpoint = toScalingEndpoint(demand, { canFreeze: budgetBytes > 0, userCut, now: wallNow, floor });
    return decideWorkers({
      endpoint,
      demand: {
        ...demand,
        oldestQueuedAt: demand.oldestQueuedAt?.getTime() ?? null,
        oldestBatchAt: demand.oldestBatchAt?.getTime() ?? null,
      },
      workers: workers.map((worker) => this.#facts.toWorker(worker, wallNow, now)),
      failedStarts: toFailedStarts(demand),
      frozenMemory: { budgetBytes, reservedBytes: reservedBytes(endpoint.flashboot, frozen) },
      hasObserved: this.#resync.hasSeenAll && now - this.#startedAt >= TICK_MS,
      now: wallNow,
    });
  }

  async #listFrozen(): Promise<FrozenWorker[]> {
    const frozen = await listFreezingWorkers(this.#deps.pool);
    return frozen.map((worker) => ({ ...worker, frozenAt: worker.frozenAt?.getTime() ?? 0 }));
  }

  /** Writes a decision while the scaler continues with other endpoints. */
  #apply(user: EndpointUser, decision: ScalingDecision, demand: EndpointDemand): void {
    const id = user.endpointId;
    if (decision.actions.some(({ kind }) => kind === 'start')) this.#deps.onStarting?.();
    const added = this.#allowances.add(user, decision);
    const applied = this.#write(demand, decision)
      .catch((error) => {
        this.#log.error({ endpointId: id, err: error }, 'writing a scaling decision failed');
        this.#setDue(id, this.#deps.monotonic.now() + RETRY_MS);
      })
      .finally(() => {
        added();
        this.#applying.delete(id);
        if (this.#due.has(id)) this.#loop.wake();
      });
    this.#applying.set(id, applied);
  }

  #write({ id, userId, version, wish }: EndpointDemand, decision: ScalingDecision): Promise<void> {
    const { logger, bus, onThaw } = this.#deps;
    const endpoint = { endpointId: id, wish: wish && { ...wish, userId, version } };
    return this.#writer.write(endpoint, decision, ({ kind, workerId, reason }) => {
      logger.info({ endpointId: id, workerId, action: kind, reason }, 'scaling');
      if (kind === 'thaw') onThaw?.(workerId, reason);
      // Nobody else has anything to do before a worker starts, which is published.
      if (kind !== 'start') bus.publish('worker', workerId);
    });
  }

  /** Keeps the earliest time; false if an earlier one was set. */
  #setDue(endpointId: EndpointId, at: number): boolean {
    const known = this.#due.get(endpointId);
    if (known !== undefined && known <= at) return false;
    this.#due.set(endpointId, at);
    return true;
  }
}

/** True when a decision may freeze a worker: only then are the other frozen ones read, because a thaw waits for each read. */
function mayFreeze(
  budgetBytes: number,
  demands: readonly EndpointDemand[],
  workers: readonly ControlledWorker[],
): boolean {
  return (
    budgetBytes > 0 &&
    demands.some(({ flashboot }) => flashboot === 'FLASHBOOT') &&
    workers.some(({ wanted, phase, leased }) => wanted === 'RUN' && phase === 'RUNNING' && leased === 0)
  );
}
