/**
 * A day of very many endpoints, few of them at work at any time. Unlike world.ts, which looks at all endpoints, it holds only those
 * that work, and keeps count of free GPUs instead of summing them. The decisions are those of src/scaling.
 */
import { decideWorkers, type ScalingAction } from '../../src/scaling/decide-workers.ts';
import type { PoolCapacity } from '../../src/scaling/place-worker.ts';
import { type Share, shareCapacity } from '../../src/scaling/share-capacity.ts';
import type { HoldingWorker, PastYield, Reservation, Yield } from '../../src/scaling/sharing.ts';
import { Agenda, Alarm } from './agenda.ts';
import { emptyResult, type Job, type TenantResult } from './endpoint.ts';
import {
  type Active,
  activeEndpoint,
  capacitiesOf,
  GROUP_NAMES,
  type InternetDay,
  type Worker,
} from './internet-day.ts';
import { InternetTraffic } from './internet-traffic.ts';
import { mulberry32 } from './random.ts';

const SECOND = 1_000;
const MIN_INTERVAL_MS = 250;
const CERTAIN_AFTER_MS = 1_500;
/** While workers wait for GPUs, they are placed again this often. */
const PLACE_AGAIN_MS = 1_000;
const RESERVED_MS = 10_000;
const FIVE_MINUTES_MS = 300_000;
const COLD_START_MS = 20 * SECOND;
const FAILED_STARTS = 0.002;
const SAMPLES = 480;

export interface InternetReport {
  /** By group of endpoints. */
  results: TenantResult[];
  decisions: number;
  placements: number;
  /** Most endpoints with work or workers at a time. */
  mostActive: number;
}

/** Runs a day. The same seed gives the same result. */
export function simulateInternet(day: InternetDay, seed = 1): InternetReport {
  return new Internet(day, seed).run();
}

class Internet {
  readonly #day: InternetDay;
  readonly #agenda = new Agenda();
  readonly #random: () => number;
  readonly #traffic: InternetTraffic;
  readonly #groups = GROUP_NAMES.map(emptyResult);
  /** `free` is kept up to date. */
  readonly #capacities: PoolCapacity[];
  readonly #active = new Map<number, Active>();
  readonly #workers = new Map<string, Worker>();
  readonly #waiting = new Set<Worker>();
  #now = 0;
  #serial = 0;
  readonly #placing = new Alarm(this.#agenda, () => this.#place());
  #isShort = false;
  #reserved: (Reservation & { until: number })[] = [];
  #past: (PastYield & { at: number })[] = [];
  #decisions = 0;
  #placements = 0;
  #mostActive = 0;

  constructor(day: InternetDay, seed: number) {
    this.#day = day;
    this.#random = mulberry32(seed);
    this.#traffic = new InternetTraffic(day.endpoints, this.#random);
    this.#capacities = capacitiesOf(day);
  }

  run(): InternetReport {
    const { durationMs } = this.#day;
    this.#expectJob();
    for (let i = 0; i <= SAMPLES; i++) this.#agenda.add((i * durationMs) / SAMPLES, () => this.#sample());
    this.#agenda.runUntil(durationMs, (at) => {
      this.#now = at;
    });
    for (const worker of this.#workers.values()) this.#count(worker);
    return {
      results: this.#groups,
      decisions: this.#decisions,
      placements: this.#placements,
      mostActive: this.#mostActive,
    };
  }

  #expectJob(): void {
    const { at, endpoint: index } = this.#traffic.next(this.#now);
    this.#agenda.add(at, () => {
      const endpoint = this.#active.get(index) ?? this.#activate(index);
      endpoint.queue.push({ cameAt: at, ms: 2 * SECOND + this.#random() * 4 * SECOND });
      endpoint.result.submitted += 1;
      this.#dispatch(endpoint);
      this.#wake(endpoint);
      this.#expectJob();
    });
  }

  #activate(index: number): Active {
    const endpoint = activeEndpoint(this.#day, index, this.#groups);
    this.#active.set(index, endpoint);
    this.#mostActive = Math.max(this.#mostActive, this.#active.size);
    return endpoint;
  }

  /** To the worker that became idle last. */
  #dispatch(endpoint: Active): void {
    while (endpoint.queue.length > 0) {
      let worker: Worker | undefined;
      for (const one of endpoint.workers) {
        const isIdle = one.state === 'ready' && one.job === null;
        if (isIdle && (worker === undefined || one.idleSince! > worker.idleSince!)) worker = one;
      }
      if (worker === undefined) return;
      this.#begin(worker, endpoint.queue.shift()!);
    }
  }

  #begin(worker: Worker, job: Job): void {
    const { result } = worker.endpoint;
    const waitMs = this.#now - job.cameAt;
    Object.assign(worker, { job, leased: 1, idleSince: null, certainlyIdleAt: null });
    this.#agenda.add(this.#now + job.ms, () => {
      result.waitsMs.push(waitMs);
      result.busyMs += job.ms;
      Object.assign(worker, { job: null, leased: 0, hasWorked: true });
      this.#rest(worker);
      if (worker.state === 'leaving') this.#end(worker);
      this.#dispatch(worker.endpoint);
      this.#wake(worker.endpoint);
    });
  }

  #rest(worker: Worker): void {
    Object.assign(worker, { idleSince: this.#now, certainlyIdleAt: this.#now + CERTAIN_AFTER_MS });
  }

  #wake(endpoint: Active, at = this.#now): void {
    const due = endpoint.workers.size === 0 ? at : Math.max(at, endpoint.decidedAt + MIN_INTERVAL_MS);
    if (endpoint.decidesAt <= due) return;
    endpoint.decidesAt = due;
    this.#agenda.add(due, () => {
      if (endpoint.decidesAt !== due) return;
      endpoint.decidesAt = Number.POSITIVE_INFINITY;
      this.#decide(endpoint);
    });
  }

  #decide(endpoint: Active): void {
    const { settings, queue, failures } = endpoint;
    const workers = [...endpoint.workers];
    endpoint.decidedAt = this.#now;
    this.#decisions += 1;
    const decision = decideWorkers({
      endpoint: settings,
      demand: {
        queued: queue.length,
        queuedLowPriority: 0,
        inProgress: workers.reduce((sum, { leased }) => sum + leased, 0),
        oldestQueuedAt: queue[0]?.cameAt ?? null,
      },
      workers,
      failedStarts: failures.count === 0 ? null : { ...failures, lastReason: 'it crashed' },
      frozenMemory: { budgetBytes: 0, reservedBytes: 0 },
      hasObserved: true,
      now: this.#now,
    });
    for (const action of decision.actions) this.#act(endpoint, action);
    if (decision.nextAt !== null) this.#wake(endpoint, decision.nextAt);
    const isAtRest =
      endpoint.workers.size === 0 && queue.length === 0 && endpoint.decidesAt === Number.POSITIVE_INFINITY;
    if (isAtRest) this.#active.delete(endpoint.index);
  }

  #act(endpoint: Active, action: ScalingAction): void {
    if (action.kind === 'start') this.#add(endpoint, action.pause?.until ?? this.#now);
    else {
      const worker = this.#workers.get(action.workerId)!;
      if (worker.leased > 0) endpoint.result.busyDrained += 1;
      this.#drain(worker);
    }
  }

  #add(endpoint: Active, notBefore: number): void {
    this.#serial += 1;
    const worker: Worker = {
      id: `w${this.#serial}`,
      version: 1,
      state: 'pending',
      leased: 0,
      createdAt: this.#now,
      idleSince: null,
      certainlyIdleAt: null,
      hasWorked: false,
      memoryBytes: 0,
      frozenAt: null,
      endpoint,
      notBefore,
      place: null,
      startedAt: this.#now,
      readyAt: null,
      yieldsTo: null,
      job: null,
    };
    endpoint.workers.add(worker);
    this.#workers.set(worker.id, worker);
    this.#waiting.add(worker);
    this.#placing.set(this.#isShort ? Math.max(notBefore, this.#now + PLACE_AGAIN_MS) : notBefore);
  }

  #drain(worker: Worker): void {
    worker.state = 'leaving';
    if (worker.job === null) this.#end(worker);
  }

  #end(worker: Worker): void {
    const { endpoint, place, yieldsTo } = worker;
    this.#count(worker);
    endpoint.workers.delete(worker);
    this.#workers.delete(worker.id);
    this.#waiting.delete(worker);
    if (place) {
      const { count } = endpoint.request;
      place.free += count;
      const { pool, gpuTypeId, dataCenterId } = place;
      const kept = { pool, gpuTypeId, dataCenterId, count, until: this.#now + RESERVED_MS };
      if (yieldsTo !== null) this.#reserved.push({ endpointId: yieldsTo, ...kept });
    }
    this.#wake(endpoint);
    if (this.#waiting.size > 0) this.#placing.set(this.#now + MIN_INTERVAL_MS);
  }

  /** Adds the worker's time since it was placed. */
  #count({ place, endpoint, startedAt }: Worker): void {
    if (place !== null) endpoint.result.workerMs += this.#now - startedAt;
  }

  #place(): void {
    let nextAt = Number.POSITIVE_INFINITY;
    const due: Worker[] = [];
    for (const worker of this.#waiting) {
      if (worker.notBefore <= this.#now) due.push(worker);
      else nextAt = Math.min(nextAt, worker.notBefore);
    }
    if (Number.isFinite(nextAt)) this.#placing.set(nextAt);
    if (due.length === 0) return;
    const share = this.#share(due);
    for (const [id, { pool, dataCenterId }] of share.placed) {
      const place = this.#capacities.find((one) => one.pool === pool && one.dataCenterId === dataCenterId)!;
      this.#start(this.#workers.get(id)!, place);
    }
    this.#isShort = share.missing.size > 0;
    if (this.#isShort) this.#placing.set(this.#now + PLACE_AGAIN_MS);
    for (const one of share.yields) this.#yield(this.#workers.get(one.id)!, one);
  }

  /** As control does: who holds what matters only when there is not enough for all. */
  #share(due: readonly Worker[]): Share {
    const waiting = due.map(({ id, endpoint, createdAt, notBefore }) => {
      const waitsSince = Math.max(createdAt, notBefore);
      return { id, endpointId: endpoint.id, userId: endpoint.userId, request: endpoint.request, waitsSince };
    });
    this.#placements += waiting.length;
    this.#reserved = this.#reserved.filter(({ until }) => until > this.#now);
    const sharing = {
      capacities: this.#capacities,
      waiting,
      reserved: this.#reserved,
      holding: [],
      minOf: () => 0,
      now: this.#now,
    };
    const share = shareCapacity(sharing);
    if (share.missing.size === 0) return share;
    this.#past = this.#past.filter(({ at }) => this.#now - at < FIVE_MINUTES_MS);
    return shareCapacity({ ...sharing, holding: this.#holding(), past: this.#past });
  }

  #holding(): HoldingWorker[] {
    const holding: HoldingWorker[] = [];
    for (const worker of this.#workers.values()) {
      const { id, endpoint, place, startedAt, readyAt, job, yieldsTo, state } = worker;
      if (place === null) continue;
      holding.push({
        id,
        endpointId: endpoint.id,
        userId: endpoint.userId,
        pool: place.pool,
        dataCenterId: place.dataCenterId,
        count: endpoint.request.count,
        since: readyAt ?? startedAt,
        isReady: readyAt !== null,
        isBusy: job !== null,
        weight: 1,
        isLeaving: state === 'leaving',
        yieldsTo,
      });
    }
    return holding;
  }

  #yield(worker: Worker, { forEndpointId, level }: Yield): void {
    const { endpoint } = worker;
    endpoint.result.gaveTo.set(forEndpointId, (endpoint.result.gaveTo.get(forEndpointId) ?? 0) + 1);
    this.#past.push({ fromEndpointId: endpoint.id, toEndpointId: forEndpointId, level, at: this.#now });
    worker.yieldsTo = forEndpointId;
    this.#drain(worker);
  }

  #start(worker: Worker, place: PoolCapacity): void {
    const { endpoint } = worker;
    place.free -= endpoint.request.count;
    this.#waiting.delete(worker);
    Object.assign(worker, { state: 'starting', place, startedAt: this.#now });
    const kept = this.#reserved.findIndex(({ endpointId }) => endpointId === endpoint.id);
    if (kept >= 0) this.#reserved.splice(kept, 1);
    endpoint.result.starts += 1;
    endpoint.result.mostWorkers = Math.max(endpoint.result.mostWorkers, endpoint.workers.size);
    const isBroken = this.#random() < FAILED_STARTS;
    this.#agenda.add(this.#now + COLD_START_MS, () => {
      if (!this.#workers.has(worker.id) || worker.state !== 'starting') return;
      if (isBroken) this.#fail(worker);
      else this.#becomeReady(worker);
    });
  }

  #fail(worker: Worker): void {
    const { endpoint } = worker;
    endpoint.result.failedStarts += 1;
    endpoint.failures = { count: endpoint.failures.count + 1, lastAt: this.#now };
    this.#end(worker);
  }

  #becomeReady(worker: Worker): void {
    worker.endpoint.failures.count = 0;
    worker.state = 'ready';
    worker.readyAt = this.#now;
    this.#rest(worker);
    this.#dispatch(worker.endpoint);
    this.#wake(worker.endpoint);
  }

  #sample(): void {
    const samples = this.#groups.map((group) => {
      const sample = { at: this.#now, queued: 0, inProgress: 0, ready: 0, starting: 0, frozen: 0, waitMs: 0 };
      group.samples.push(sample);
      return sample;
    });
    for (const { result, queue } of this.#active.values()) {
      const sample = samples[this.#groups.indexOf(result)]!;
      sample.queued += queue.length;
      if (queue[0]) sample.waitMs = Math.max(sample.waitMs, this.#now - queue[0].cameAt);
    }
    for (const { endpoint, state, job } of this.#workers.values()) {
      const sample = samples[this.#groups.indexOf(endpoint.result)]!;
      if (job !== null) sample.inProgress += 1;
      if (state === 'starting') sample.starting += 1;
      else if (state !== 'pending') sample.ready += 1;
    }
  }
}
