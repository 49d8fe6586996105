import { add, Holdings, type Usage } from './holdings.ts';
import {
  type GpuPlace,
  isSamePlace,
  type Placement,
  type PlaceRequest,
  type PoolCapacity,
  placesFor,
} from './place-worker.ts';
import type { HoldingWorker, Sharing, WaitingWorker, Yield } from './sharing.ts';

/** A worker that has waited this long may have others preempted. */
const PREEMPT_AFTER_MS = 60_000;
/**
 * A worker that has been ready for this long has had its turn: an endpoint without any gets its place. Half of the five
 * minutes in which no endpoint preempts another twice, so that two of them take turns of equal length.
 */
const TURN_MS = 150_000;
/**
 * An endpoint without any GPU comes first once it has waited this long, times the endpoints of its user, who may hold a whole share
 * elsewhere.
 */
const STARVING_MS = 900_000;

/** GPUs and workers that were chosen already, by endpoint and by user. */
interface Given {
  endpoints: Map<string, Usage>;
  users: Map<string, number>;
}

/** The holdings of all users, and whom each may preempt: kept up to date while capacity is shared. */
export class Contention {
  readonly #sharing: Sharing;
  readonly #capacities: PoolCapacity[];
  /** By place: what is free, but kept for one endpoint. */
  readonly #kept: { endpointId: string; place: GpuPlace; count: number }[];
  /** GPUs that the waiting workers of an endpoint lack. */
  readonly #lacking = new Map<string, number>();
  readonly #holdings: Holdings;
  readonly #past: Set<string>;
  /** By request: the least needy worker for which no other user's worker leaves. One may leave for a needier worker. */
  readonly #withoutVictims = new Map<string, { held: number; beyond: number }>();
  /** Endpoints that got a place for a worker in this run. */
  readonly #starting = new Set<string>();
  /** Places in which a starving endpoint waits for the turns of all the others to end: no new one begins there. */
  readonly #claimed: GpuPlace[] = [];
  /** By endpoint and place: what earlier workers of the endpoint wait for already. */
  readonly #spokenFor = new Map<string, number>();

  constructor(sharing: Sharing) {
    this.#sharing = sharing;
    this.#capacities = sharing.capacities.map((capacity) => ({ ...capacity }));
    this.#kept = (sharing.reserved ?? []).map(({ endpointId, count, ...place }) => ({ endpointId, place, count }));
    this.#past = new Set((sharing.past ?? []).map((one) => pastKey(one.fromEndpointId, one.toEndpointId, one.level)));
    this.#holdings = new Holdings(sharing.holding, sharing.waiting);
    this.#keepForGathering();
    for (const { endpointId, request } of sharing.waiting) add(this.#lacking, endpointId, request?.count ?? 0);
  }

  /**
   * Workers are leaving for an endpoint that needs several GPUs together: what is free beside them is kept for it too, or another
   * request would take that, and all of them have left in vain.
   */
  #keepForGathering(): void {
    const forOthers = this.#holdings.leaving.filter(({ yieldsTo }) => yieldsTo !== null);
    for (const [endpointId, leaving] of Map.groupBy(forOthers, ({ yieldsTo }) => yieldsTo!)) {
      const needed = this.#sharing.waiting.find((one) => one.endpointId === endpointId)?.request?.count ?? 1;
      for (const here of Map.groupBy(leaving, placeKey).values()) {
        const coming = here.reduce((sum, { count }) => sum + count, 0);
        const count = (needed - (coming % needed)) % needed;
        if (count > 0) this.#kept.push({ endpointId, place: here[0]!, count });
      }
    }
  }

  heldBy(endpointId: string): number {
    return this.#holdings.heldBy(endpointId);
  }

  /** Returns how many GPUs a user holds beyond the quota; negative below it. */
  beyondQuota(userId: string): number {
    return this.#holdings.heldByUser(userId) - this.#quotaOf(userId);
  }

  /** Returns the number of a user's endpoints that hold or want GPUs. */
  endpointsOf(userId: string): number {
    return this.#holdings.endpointsOf(userId);
  }

  /** Returns what an endpoint may take: all that is free, but not what is kept for others. */
  visibleTo(endpointId: string): readonly PoolCapacity[] {
    const others = this.#kept.filter((one) => one.endpointId !== endpointId);
    if (others.length === 0) return this.#capacities;
    const kept = others.map((one) => {
      return { ...one, count: Math.min(one.count, this.#lacking.get(one.endpointId) ?? one.count) };
    });
    return this.#capacities.map((capacity) => {
      let { free } = capacity;
      for (const one of kept.filter(({ place }) => isSamePlace(place, capacity))) {
        const taken = Math.min(free, one.count); // the rest is on the next node
        free -= taken;
        one.count -= taken;
      }
      return { ...capacity, free };
    });
  }

  occupy(worker: WaitingWorker, place: Placement & { isPlaced: true }, count: number): void {
    const { endpointId } = worker;
    this.#capacities.find(
      (one) =>
        isSamePlace(one, place) && one.free >= count && (place.cudaVersion ?? one.cudaVersion) === one.cudaVersion,
    )!.free -= count;
    const kept = this.#kept.find((one) => one.endpointId === endpointId && isSamePlace(one.place, place));
    if (kept) kept.count = Math.max(0, kept.count - count);
    this.#starting.add(endpointId);
    add(this.#lacking, endpointId, -count);
    this.#holdings.give(worker, count);
  }

  /** True when an endpoint got nothing for very long. */
  isStarving({ endpointId, userId, waitsSince }: WaitingWorker): boolean {
    const waitedMs = (this.#sharing.now - waitsSince) / this.endpointsOf(userId);
    return waitedMs >= STARVING_MS && this.heldBy(endpointId) === 0;
  }

  /** True when something was left for an endpoint that waits. */
  hasReservation(endpointId: string): boolean {
    return this.#kept.some((one) => one.endpointId === endpointId);
  }

  /**
   * In a roll-out, returns the old worker that leaves for a new one without a place: one at a time, idle ones first, and
   * none while another one leaves or becomes ready. More than one only if the new one needs the GPUs of several. Null when
   * no old worker of the endpoint could help. `request` null: anything but GPUs is missing.
   */
  replaceOwn(worker: WaitingWorker, request: PlaceRequest | null): Yield[] | null {
    const own = this.#holdings.workersOf(worker.endpointId);
    if (!own.some(isOutdated)) return null;
    const isReplacing = own.some((one) => (isOutdated(one) ? one.isLeaving : !one.isReady && !one.isLeaving));
    if (isReplacing || (request !== null && this.#starting.has(worker.endpointId))) return [];
    const old = own.filter((one) => isOutdated(one) && this.#holdings.stayers.has(one)).sort(byDispensability);
    if (request === null) return this.#leave(old.slice(0, 1), worker, 'rollout', 0);
    for (const place of placesFor(request, this.visibleTo(worker.endpointId))) {
      let free = this.#comingTo(worker.endpointId, place);
      const chosen: HoldingWorker[] = [];
      for (const one of old.filter((each) => isSamePlace(each, place))) {
        if (free >= request.count) break;
        chosen.push(one);
        free += one.count;
      }
      if (free < request.count || place.total < request.count) continue;
      this.#keep(worker.endpointId, place, request.count);
      return this.#leave(chosen, worker, 'rollout', 0);
    }
    return null;
  }

  /** True when a worker is within its user's quota: what others borrow is given back at once. */
  hasQuota({ userId }: WaitingWorker, { count }: PlaceRequest): boolean {
    return this.beyondQuota(userId) + count <= 0;
  }

  /**
   * Returns the workers of other endpoints that leave for one without a place; none while enough are leaving already. What
   * is free where they leave is kept for it meanwhile.
   */
  preempt(worker: WaitingWorker, request: PlaceRequest): Yield[] {
    const cause = this.hasQuota(worker, request) ? 'quota' : 'share';
    if (cause === 'share' && !this.#hasWaitedLong(worker)) return [];
    const mayPreempt = this.#sharing.recordOf?.(worker.endpointId).mayPreempt ?? true;
    const isClaimed = (place: GpuPlace) => cause === 'share' && this.#claimed.some((one) => isSamePlace(one, place));
    const places = placesFor(request, this.visibleTo(worker.endpointId)).filter(
      (place) => place.total >= request.count && !isClaimed(place),
    );
    for (const place of places) {
      const coming = this.#comingTo(worker.endpointId, place);
      const isEnough = coming >= request.count;
      const chosen = isEnough ? [] : mayPreempt && this.#choose(worker, request, place, coming, true);
      if (!chosen) continue;
      const level = this.heldBy(worker.endpointId) + request.count;
      this.#keep(worker.endpointId, place, request.count);
      return this.#leave(chosen, worker, cause, level);
    }
    // Enough of this place becomes free later; without a reservation, smaller requests would take it piece by piece.
    const inReach =
      mayPreempt &&
      request.count > 1 &&
      places.find((place) => this.#choose(worker, request, place, this.#comingTo(worker.endpointId, place), false));
    if (inReach) this.#keep(worker.endpointId, inReach, request.count);
    if (inReach && this.isStarving(worker)) this.#claimed.push(inReach);
    return [];
  }

  /** Returns a clause about the endpoint's own workers that are leaving, for the reason why a worker waits. */
  describeOwnLeaving({ endpointId }: WaitingWorker, request: PlaceRequest): string {
    const own = this.#holdings.leaving.find(
      (one) =>
        one.endpointId === endpointId &&
        (one.yieldsTo ?? endpointId) === endpointId &&
        request.pools.includes(one.pool ?? ''),
    );
    return own ? `; it follows worker ${own.id}, which ${own.isBusy ? 'finishes its jobs first' : 'is leaving'}` : '';
  }

  /** Returns holders whose GPUs are enough together with `free`. `isNow` false: in a while, if nothing changes. */
  #choose(
    worker: WaitingWorker,
    request: PlaceRequest,
    place: GpuPlace,
    free: number,
    isNow: boolean,
  ): HoldingWorker[] | null {
    const need = { held: this.heldBy(worker.endpointId), beyond: this.beyondQuota(worker.userId) };
    const key = `${placeKey(place)}/${request.count}/${isNow}`;
    const known = this.#withoutVictims.get(key);
    const hasNoVictims = known !== undefined && need.held >= known.held && need.beyond >= known.beyond;
    const candidates = hasNoVictims ? this.#holdings.workersOfUser(worker.userId) : this.#holdings.stayers;
    const chosen = new Set<HoldingWorker>();
    const given: Given = { endpoints: new Map(), users: new Map() };
    let sum = free;
    const hasOwn = !hasNoVictims && this.#hasOwn(worker, request);
    while (sum < request.count) {
      let best: HoldingWorker | undefined;
      for (const one of candidates) {
        if (one.endpointId === worker.endpointId || !isSamePlace(one, place)) continue;
        if (chosen.has(one) || !this.#holdings.stayers.has(one)) continue;
        if (this.#mayTake(worker, request, one, { given, hasOwn, isNow }) && this.#isBetter(one, best)) best = one;
      }
      if (!best) break;
      chosen.add(best);
      sum += best.count;
      const { gpus, workers } = given.endpoints.get(best.endpointId) ?? { gpus: 0, workers: 0 };
      given.endpoints.set(best.endpointId, { gpus: gpus + best.count, workers: workers + 1 });
      add(given.users, best.userId, best.count);
    }
    if (sum >= request.count) return [...chosen];
    if (!hasNoVictims && this.#hasWaitedLong(worker) && this.#past.size === 0) this.#withoutVictims.set(key, need);
    return null;
  }

  /**
   * True when a worker's GPUs may go to another endpoint, after what was `given` already. `hasOwn`: the other user has GPUs
   * that would do, so that other users give up none for a turn.
   */
  #mayTake(
    worker: WaitingWorker,
    request: PlaceRequest,
    holder: HoldingWorker,
    { given, hasOwn, isNow }: { given: Given; hasOwn: boolean; isNow: boolean },
  ): boolean {
    const { now, minOf } = this.#sharing;
    const { endpointId, userId } = worker;
    const isSameUser = holder.userId === userId;
    const ofUser = this.#holdings.stayingOfUser(holder.userId) - (given.users.get(holder.userId) ?? 0);
    const remainsBeyond = ofUser - holder.count - this.#quotaOf(holder.userId);
    if (!isSameUser && remainsBeyond < 0) return false; // the other user is sure to get these
    if (!isSameUser && this.hasQuota(worker, request)) return true;
    if (!this.#hasWaitedLong(worker)) return false;
    const staying = this.#holdings.stayingOf(holder.endpointId);
    const gone = given.endpoints.get(holder.endpointId) ?? { gpus: 0, workers: 0 };
    if (staying.workers - gone.workers <= minOf(holder.endpointId)) return false;
    const held = this.heldBy(endpointId);
    if (isNow && this.#past.has(pastKey(holder.endpointId, endpointId, held + request.count))) return false;
    const isFair = isSameUser
      ? staying.gpus - gone.gpus - holder.count >= held + request.count
      : remainsBeyond >= this.beyondQuota(userId) + request.count;
    if (isFair) return true;
    // Shares of users that differ by one are as fair as the reverse: then it matters that each endpoint has some.
    const keepsSome = staying.gpus - gone.gpus > holder.count;
    if (!isSameUser && held === 0 && keepsSome && remainsBeyond >= this.beyondQuota(userId)) return true;
    const hadTurn = !isNow || (holder.isReady && now - holder.since >= TURN_MS);
    return held === 0 && hadTurn && (isSameUser || !hasOwn);
  }

  /** True when a user has GPUs in one place that, with what is free there, would do for a worker. */
  #hasOwn({ userId }: WaitingWorker, request: PlaceRequest): boolean {
    const places = placesFor(request, this.#capacities).filter(({ total }) => total >= request.count);
    const own = this.#holdings.keptBy(userId);
    return places.some((place) => {
      const count = own.filter((one) => isSamePlace(one, place)).reduce((sum, one) => sum + one.count, 0);
      return count > 0 && place.free + count >= request.count;
    });
  }

  /** The user with most gives first, then the endpoint with most; of its workers, the most dispensable. */
  #isBetter(a: HoldingWorker, b: HoldingWorker | undefined): boolean {
    if (b === undefined) return true;
    const beyond = (one: HoldingWorker) => this.#holdings.stayingOfUser(one.userId) - this.#quotaOf(one.userId);
    const order =
      beyond(b) - beyond(a) ||
      this.#holdings.stayingOf(b.endpointId).gpus - this.#holdings.stayingOf(a.endpointId).gpus ||
      byDispensability(a, b);
    return order < 0;
  }

  #leave(chosen: readonly HoldingWorker[], worker: WaitingWorker, cause: Yield['cause'], level: number): Yield[] {
    const { endpointId } = worker;
    const held = this.heldBy(endpointId);
    return chosen.map((one) => {
      this.#holdings.pass(one, worker);
      const waitedMs = Math.max(0, this.#sharing.now - worker.waitsSince);
      const whose = { forWorkerId: worker.id, forEndpointId: endpointId, held };
      return { id: one.id, endpointId: one.endpointId, ...whose, cause, level, waitedMs };
    });
  }

  /** GPUs that are or become free for an endpoint in a place, less what its earlier workers wait for. */
  #comingTo(endpointId: string, place: PoolCapacity): number {
    const here = this.#holdings.leaving.filter((one) => isSamePlace(one, place));
    const leaving = here.filter(({ yieldsTo }) => yieldsTo === null || yieldsTo === endpointId);
    const spokenFor = this.#spokenFor.get(`${endpointId}/${placeKey(place)}`) ?? 0;
    return place.free + leaving.reduce((sum, one) => sum + one.count, 0) - spokenFor;
  }

  /** Keeps what is free in a place for an endpoint, up to what its workers wait for. */
  #keep(endpointId: string, place: GpuPlace, count: number): void {
    const key = `${endpointId}/${placeKey(place)}`;
    add(this.#spokenFor, key, count);
    const wanted = this.#spokenFor.get(key)!;
    const kept = this.#kept.find((one) => one.endpointId === endpointId && isSamePlace(one.place, place));
    if (kept) kept.count = Math.max(kept.count, wanted);
    else this.#kept.push({ endpointId, place, count: wanted });
  }

  #hasWaitedLong({ waitsSince }: WaitingWorker): boolean {
    return this.#sharing.now - waitsSince >= PREEMPT_AFTER_MS;
  }

  #quotaOf(userId: string): number {
    return this.#sharing.quotaOf?.(userId) ?? 0;
  }
}

function isOutdated({ weight }: HoldingWorker): boolean {
  return weight === 0;
}

/** Idle workers first, then the ones that have run longest. */
function byDispensability(a: HoldingWorker, b: HoldingWorker): number {
  return Number(a.isBusy) - Number(b.isBusy) || a.since - b.since;
}

function placeKey({ pool, gpuTypeId = null, dataCenterId }: GpuPlace): string {
  return `${dataCenterId}/${pool}/${gpuTypeId}`;
}

function pastKey(from: string, to: string, level: number): string {
  return `${from}/${to}/${level}`;
}
