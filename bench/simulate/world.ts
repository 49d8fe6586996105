/**
 * Simulates a day of traffic in seconds: jobs arrive, workers start, work, freeze and leave, on a clock that jumps from event
 * to event. The decisions are those of src/scaling, called as control calls them; the rest is only counted.
 */
import { decideWorkers, type ScalingAction } from '../../src/scaling/decide-workers.ts';
import type { PoolCapacity } from '../../src/scaling/place-worker.ts';
import { shareCapacity } from '../../src/scaling/share-capacity.ts';
import type { HoldingWorker, PastYield, Reservation, Yield } from '../../src/scaling/sharing.ts';
import { type PastStart, startRecordOf } from '../../src/scaling/start-record.ts';
import { Agenda, Alarm } from './agenda.ts';
import { Endpoint, type TenantResult, type Worker } from './endpoint.ts';
import { mulberry32 } from './random.ts';
import type { Scenario } from './scenarios.ts';

const MIN_INTERVAL_MS = 250;
const CERTAIN_AFTER_MS = 1_500;
const PLACE_AGAIN_MS = 2_000;
const CLAIM_AGAIN_MS = 100;
const RESERVED_MS = 10_000;
const FIVE_MINUTES_MS = 300_000;
const STARTS_KEPT = 20;
const SAMPLES = 480;

/** Runs a scenario. The same seed gives the same result. */
export function simulate(scenario: Scenario, seed = 1): TenantResult[] {
  return new World(scenario, seed).run();
}

class World {
  readonly #scenario: Scenario;
  readonly #agenda = new Agenda();
  readonly #endpoints: Endpoint[];
  readonly #random: () => number;
  #now = 0;
  #serial = 0;
  readonly #placing = new Alarm(this.#agenda, () => this.#place());
  #total = 0;
  #reserved: (Reservation & { until: number })[] = [];
  #past: (PastYield & { at: number })[] = [];

  constructor(scenario: Scenario, seed: number) {
    this.#scenario = scenario;
    this.#random = mulberry32(seed);
    this.#endpoints = scenario.tenants.map((tenant) => new Endpoint(tenant));
  }

  run(): TenantResult[] {
    const { durationMs } = this.#scenario;
    for (const endpoint of this.#endpoints) {
      this.#scheduleNext(endpoint, 0);
      for (const at of endpoint.tenant.releasesAt) this.#agenda.add(at, () => this.#release(endpoint));
    }
    for (let i = 0; i <= SAMPLES; i++) this.#agenda.add((i * durationMs) / SAMPLES, () => this.#sample());
    this.#agenda.runUntil(durationMs, (at) => {
      this.#now = at;
    });
    for (const { workers, result } of this.#endpoints)
      for (const worker of workers.values()) this.#count(worker, result);
    return this.#endpoints.map(({ result }) => result);
  }

  /** Schedules the next job: random arrivals at the tenant's rate. */
  #scheduleNext(endpoint: Endpoint, from: number): void {
    let at = from;
    for (;;) {
      const rate = endpoint.tenant.jobsPerSecond(at);
      if (rate <= 0) at += 1_000;
      else {
        const gapMs = (-Math.log(1 - this.#random()) / rate) * 1_000;
        if (gapMs <= 1_000 || rate < 1) {
          at += Math.min(gapMs, 60_000);
          if (gapMs <= 60_000) break;
        } else at += 1_000;
      }
      if (at > this.#scenario.durationMs) return;
    }
    this.#agenda.add(at, () => {
      endpoint.queue.push({ cameAt: this.#now, ms: endpoint.tenant.jobMs(this.#random()) });
      endpoint.result.submitted += 1;
      this.#dispatch(endpoint);
      this.#wake(endpoint);
      this.#scheduleNext(endpoint, this.#now);
    });
  }

  #release(endpoint: Endpoint): void {
    endpoint.version += 1;
    endpoint.failures = { count: 0, lastAt: 0 };
    this.#wake(endpoint);
  }

  /** Dispatches to the newest release, and there to the worker that became idle last. */
  #dispatch(endpoint: Endpoint): void {
    while (endpoint.queued > 0) {
      const idle = [...endpoint.workers.values()].filter(({ state, job }) => state === 'ready' && job === null);
      const worker = idle.sort((a, b) => b.version - a.version || b.idleSince! - a.idleSince!)[0];
      if (!worker) return;
      const job = endpoint.next()!;
      const waitMs = this.#now - job.cameAt;
      endpoint.longestWaitMs = Math.max(endpoint.longestWaitMs, waitMs);
      Object.assign(worker, { job, leased: 1, idleSince: null, certainlyIdleAt: null });
      this.#agenda.add(this.#now + job.ms, () => {
        if (worker.job !== job) return;
        endpoint.result.waitsMs.push(waitMs);
        endpoint.result.busyMs += job.ms;
        Object.assign(worker, { job: null, leased: 0, hasWorked: true });
        this.#rest(worker);
        if (worker.state === 'leaving') this.#end(endpoint, worker);
        this.#dispatch(endpoint);
        this.#wake(endpoint);
      });
    }
  }

  #rest(worker: Worker): void {
    Object.assign(worker, { idleSince: this.#now, certainlyIdleAt: this.#now + CERTAIN_AFTER_MS });
  }

  #wake(endpoint: Endpoint, at = this.#now): void {
    const isQuiet = endpoint.workers.size === 0;
    const due = isQuiet ? at : Math.max(at, endpoint.decidedAt + MIN_INTERVAL_MS);
    if (endpoint.decidesAt <= due) return;
    endpoint.decidesAt = due;
    this.#agenda.add(due, () => {
      if (endpoint.decidesAt !== due) return;
      endpoint.decidesAt = Number.POSITIVE_INFINITY;
      this.#decide(endpoint);
    });
  }

  #decide(endpoint: Endpoint): void {
    endpoint.decidedAt = this.#now;
    const workers = [...endpoint.workers.values()];
    const { failures } = endpoint;
    const decision = decideWorkers({
      endpoint: { ...endpoint.tenant.settings, version: endpoint.version },
      demand: {
        queued: endpoint.queued,
        queuedLowPriority: 0,
        inProgress: workers.reduce((sum, { leased }) => sum + leased, 0),
        oldestQueuedAt: endpoint.queue[endpoint.queueHead]?.cameAt ?? null,
      },
      workers,
      failedStarts: failures.count === 0 ? null : { ...failures, lastReason: 'it crashed' },
      frozenMemory: { budgetBytes: this.#scenario.frozenBudgetBytes, reservedBytes: 0 },
      hasObserved: true,
      now: this.#now,
    });
    for (const action of decision.actions) this.#act(endpoint, action);
    if (decision.nextAt !== null) this.#wake(endpoint, decision.nextAt);
    if (decision.actions.length > 0) this.#place();
  }

  #act(endpoint: Endpoint, action: ScalingAction): void {
    if (action.kind === 'start') this.#add(endpoint, action.pause?.until ?? this.#now);
    else {
      const worker = endpoint.workers.get(action.workerId)!;
      const isLoss = action.kind === 'drain' && worker.leased > 0 && worker.version === endpoint.version;
      if (isLoss) endpoint.result.busyDrained += 1;
      if (worker.readyAt !== null) this.#past = this.#past.filter((one) => one.toEndpointId !== endpoint.tenant.name);
      if (action.kind === 'drain') this.#drain(endpoint, worker);
      else if (action.kind === 'stop') this.#end(endpoint, worker);
      else if (action.kind === 'freeze') this.#freeze(endpoint, worker);
      else this.#thaw(endpoint, worker);
    }
  }

  #freeze(endpoint: Endpoint, worker: Worker): void {
    endpoint.result.freezes += 1;
    this.#count(worker, endpoint.result);
    Object.assign(worker, { state: 'frozen', frozenAt: this.#now, idleSince: null, certainlyIdleAt: null });
    const { sleepMs } = endpoint.tenant;
    if (sleepMs === null) return;
    this.#agenda.add(this.#now + sleepMs, () => {
      worker.isAsleep = true; // even if it is wanted again by now: then it claims its GPU
      this.#placing.set(this.#now);
    });
  }

  /** Has the worker sleep that was used least recently, of those with nothing to do. False if there is none. */
  #putToSleep(): boolean {
    const idle = this.#endpoints.flatMap((endpoint) =>
      endpoint.tenant.sleepMs === null || endpoint.queued > 0
        ? []
        : [...endpoint.workers.values()]
            .filter(({ state, job }) => state === 'ready' && job === null)
            .map((worker) => ({ endpoint, worker })),
    );
    const [oldest] = idle.sort((a, b) => a.worker.idleSince! - b.worker.idleSince!);
    if (!oldest) return false;
    this.#freeze(oldest.endpoint, oldest.worker);
    return true;
  }

  get #fallsAsleep(): boolean {
    return this.#endpoints.some(({ tenant, workers }) =>
      tenant.sleepMs === null ? false : [...workers.values()].some((one) => one.frozenAt !== null && !one.isAsleep),
    );
  }

  #thaw(endpoint: Endpoint, worker: Worker): void {
    endpoint.result.thaws += 1;
    Object.assign(worker, { state: 'starting', createdAt: this.#now });
    this.#resume(endpoint, worker);
  }

  /** Thaws a worker once it has its GPUs, which others may use while it sleeps. */
  #resume(endpoint: Endpoint, worker: Worker): void {
    if (endpoint.workers.get(worker.id) !== worker || worker.state !== 'starting') return;
    const isFalling = endpoint.tenant.sleepMs !== null && !worker.isAsleep;
    const count = endpoint.tenant.request?.count ?? 0;
    if (isFalling || (worker.isAsleep && !this.#free().some(({ free }) => free >= count))) {
      if (!this.#fallsAsleep) this.#putToSleep();
      this.#agenda.add(this.#now + CLAIM_AGAIN_MS, () => this.#resume(endpoint, worker));
      return;
    }
    Object.assign(worker, { isAsleep: false, frozenAt: null, startedAt: this.#now });
    this.#agenda.add(this.#now + endpoint.tenant.thawMs, () => this.#becomeReady(endpoint, worker));
  }

  #add(endpoint: Endpoint, notBefore: number): void {
    this.#serial += 1;
    const worker: Worker = {
      id: `w${this.#serial}`,
      version: endpoint.version,
      state: 'pending',
      leased: 0,
      createdAt: this.#now,
      idleSince: null,
      certainlyIdleAt: null,
      hasWorked: false,
      memoryBytes: endpoint.tenant.memoryBytes,
      frozenAt: null,
      notBefore,
      waitsSince: notBefore,
      place: null,
      isAsleep: false,
      startedAt: this.#now,
      readyAt: null,
      yieldsTo: null,
      job: null,
    };
    endpoint.workers.set(worker.id, worker);
    const { failMs, isBroken } = endpoint.tenant;
    if (failMs !== 'no image' || !isBroken(notBefore)) this.#placing.set(notBefore);
    else {
      worker.waitsSince = worker.notBefore = Number.POSITIVE_INFINITY; // it never gets as far as a place
      this.#agenda.add(notBefore, () => {
        if (endpoint.workers.get(worker.id) === worker) this.#fail(endpoint, worker);
      });
    }
  }

  #drain(endpoint: Endpoint, worker: Worker): void {
    worker.state = 'leaving';
    if (worker.job === null) this.#end(endpoint, worker);
  }

  #end(endpoint: Endpoint, worker: Worker): void {
    if (worker.frozenAt === null) this.#count(worker, endpoint.result);
    endpoint.workers.delete(worker.id);
    this.#reserve(endpoint, worker);
    this.#wake(endpoint);
    this.#placing.set(this.#now);
  }

  /** Keeps what a worker leaves for the endpoint that it leaves it for: in a roll-out its own. */
  #reserve(endpoint: Endpoint, { place, state, yieldsTo }: Worker): void {
    const { name, request } = endpoint.tenant;
    if (!place?.pool || !place.dataCenterId || request === null || state !== 'leaving') return;
    const isReplaced = [...endpoint.workers.values()].some((one) => one.state === 'pending');
    const endpointId = yieldsTo ?? (isReplaced ? name : null);
    if (endpointId === null) return;
    const { pool, dataCenterId } = place;
    const until = this.#now + RESERVED_MS;
    this.#reserved.push({ endpointId, pool, gpuTypeId: null, dataCenterId, count: request.count, until });
  }

  /** Adds the worker's time since it was placed or thawed. */
  #count(worker: Worker, result: TenantResult): void {
    if (worker.place !== null && worker.frozenAt === null) result.workerMs += this.#now - worker.startedAt;
  }

  #place(): void {
    const all = this.#endpoints.flatMap((endpoint) =>
      [...endpoint.workers.values()].map((worker) => ({ endpoint, worker })),
    );
    const due = all.filter(({ worker }) => worker.state === 'pending' && worker.notBefore <= this.#now);
    if (due.length === 0) return;
    const capacities = this.#free();
    const waiting = due.map(({ endpoint, worker }) => ({
      id: worker.id,
      endpointId: endpoint.tenant.name,
      userId: endpoint.tenant.userId,
      request: endpoint.tenant.request,
      waitsSince: worker.waitsSince,
    }));
    const byName = new Map(this.#endpoints.map((endpoint) => [endpoint.tenant.name, endpoint]));
    const minOf = (endpointId: string) => byName.get(endpointId)?.tenant.settings.min ?? 0;
    const quotaOf = (userId: string) => this.#scenario.quotas?.[userId] ?? 0;
    const recordOf = (endpointId: string) => {
      const { starts, version } = byName.get(endpointId)!;
      return startRecordOf(starts, version, this.#now);
    };
    this.#reserved = this.#reserved.filter(({ until }) => until > this.#now);
    this.#past = this.#past.filter(({ at }) => this.#now - at < FIVE_MINUTES_MS);
    const { reserved, past } = { reserved: this.#reserved, past: this.#past };
    const rules = { minOf, quotaOf, recordOf, now: this.#now };
    const share = shareCapacity({ capacities, waiting, holding: this.#holding(), reserved, past, ...rules });
    for (const { endpoint, worker } of due) {
      const place = share.placed.get(worker.id);
      if (!place) continue;
      this.#start(endpoint, worker, place);
      const kept = this.#reserved.findIndex(({ endpointId }) => endpointId === endpoint.tenant.name);
      if (kept >= 0) this.#reserved.splice(kept, 1);
    }
    if (share.missing.size === 0) return;
    this.#placing.set(this.#now + PLACE_AGAIN_MS);
    if (this.#fallsAsleep || this.#putToSleep()) return;
    const frozen = all.filter(({ worker }) => worker.state === 'frozen' && !worker.isAsleep);
    const oldest = frozen.sort((a, b) => a.worker.frozenAt! - b.worker.frozenAt!)[0];
    if (oldest) this.#end(oldest.endpoint, oldest.worker);
    else {
      for (const one of share.yields) {
        const holder = all.find(({ worker }) => worker.id === one.id)!;
        this.#yield(holder.endpoint, holder.worker, one);
      }
    }
  }

  #yield(endpoint: Endpoint, worker: Worker, { forEndpointId, level, cause }: Yield): void {
    if (cause !== 'rollout') {
      const { gaveTo } = endpoint.result;
      gaveTo.set(forEndpointId, (gaveTo.get(forEndpointId) ?? 0) + 1);
      this.#past.push({ fromEndpointId: endpoint.tenant.name, toEndpointId: forEndpointId, level, at: this.#now });
    }
    worker.yieldsTo = forEndpointId;
    this.#drain(endpoint, worker);
  }

  #start(endpoint: Endpoint, worker: Worker, place: NonNullable<Worker['place']>): void {
    const { tenant, result } = endpoint;
    Object.assign(worker, { state: 'starting', place, startedAt: this.#now });
    result.starts += 1;
    const awake = [...endpoint.workers.values()].filter((one) => one.place !== null && one.state !== 'frozen');
    result.mostWorkers = Math.max(result.mostWorkers, awake.length);
    const isBroken = tenant.isBroken(this.#now);
    const startMs = isBroken && typeof tenant.failMs === 'number' ? tenant.failMs : tenant.coldStartMs;
    this.#agenda.add(this.#now + startMs, () => {
      if (!isBroken) this.#becomeReady(endpoint, worker);
      else if (endpoint.workers.get(worker.id) === worker) this.#fail(endpoint, worker);
    });
  }

  #fail(endpoint: Endpoint, worker: Worker): void {
    endpoint.result.failedStarts += 1;
    if (worker.version === endpoint.version) {
      endpoint.failures = { count: endpoint.failures.count + 1, lastAt: this.#now };
    }
    const placedAt = worker.place === null ? null : worker.startedAt;
    this.#remember(endpoint, worker, { placedAt, readyAt: null, exitedAt: this.#now, isLost: true });
    this.#end(endpoint, worker);
  }

  #remember(endpoint: Endpoint, { version }: Worker, start: Omit<PastStart, 'version'>): void {
    endpoint.starts.push({ version, ...start });
    if (endpoint.starts.length > STARTS_KEPT) endpoint.starts.shift();
  }

  #becomeReady(endpoint: Endpoint, worker: Worker): void {
    if (endpoint.workers.get(worker.id) !== worker || worker.state !== 'starting') return;
    if (worker.version === endpoint.version) endpoint.failures.count = 0;
    worker.state = 'ready';
    if (worker.readyAt === null) {
      const times = { placedAt: worker.startedAt, readyAt: this.#now, exitedAt: null };
      this.#remember(endpoint, worker, { ...times, isLost: false });
    }
    worker.readyAt = this.#now;
    this.#rest(worker);
    this.#dispatch(endpoint);
    this.#wake(endpoint);
  }

  /** Returns the free capacity, after removing workers whose capacity has disappeared. */
  #free(): PoolCapacity[] {
    const capacities = this.#scenario.capacities(this.#now).map((capacity) => ({ ...capacity }));
    for (const endpoint of this.#endpoints) {
      for (const worker of endpoint.workers.values()) {
        if (worker.place === null || worker.isAsleep || endpoint.tenant.request === null) continue;
        const here = capacities.find(
          ({ pool, dataCenterId }) => pool === worker.place!.pool && dataCenterId === worker.place!.dataCenterId,
        );
        if (here && here.free >= endpoint.tenant.request.count) here.free -= endpoint.tenant.request.count;
        else this.#vanish(endpoint, worker);
      }
    }
    return capacities;
  }

  #vanish(endpoint: Endpoint, worker: Worker): void {
    if (worker.job) {
      endpoint.result.repeated += 1;
      endpoint.queue.splice(endpoint.queueHead, 0, worker.job);
      worker.job = null;
    }
    this.#end(endpoint, worker);
  }

  #holding(): HoldingWorker[] {
    return this.#endpoints.flatMap(({ tenant, workers, version }) =>
      [...workers.values()]
        .filter(({ place, state, isAsleep }) => place !== null && state !== 'frozen' && !isAsleep)
        .map((worker) => ({
          id: worker.id,
          endpointId: tenant.name,
          userId: tenant.userId,
          pool: worker.place!.pool!,
          dataCenterId: worker.place!.dataCenterId!,
          count: tenant.request?.count ?? 0,
          since: worker.readyAt ?? worker.startedAt,
          isReady: worker.readyAt !== null,
          isBusy: worker.job !== null,
          weight: worker.version === version ? 1 : 0,
          yieldsTo: worker.yieldsTo,
          isLeaving: worker.state === 'leaving',
        })),
    );
  }

  #sample(): void {
    const total = this.#scenario.capacities(this.#now).reduce((sum, capacity) => sum + capacity.total, 0);
    if (total < this.#total) this.#free();
    this.#total = total;
    for (const endpoint of this.#endpoints) {
      const workers = [...endpoint.workers.values()];
      const count = (isMeant: (worker: Worker) => boolean) => workers.filter(isMeant).length;
      const oldest = endpoint.queue[endpoint.queueHead];
      const ready = count(({ state }) => state === 'ready' || state === 'leaving');
      const starting = count(({ state }) => state === 'starting');
      endpoint.result.samples.push({
        at: this.#now,
        queued: endpoint.queued,
        inProgress: count(({ job }) => job !== null),
        ready,
        starting,
        frozen: count(({ state }) => state === 'frozen'),
        waitMs: Math.max(endpoint.longestWaitMs, oldest ? this.#now - oldest.cameAt : 0),
      });
      endpoint.longestWaitMs = 0;
    }
  }
}
