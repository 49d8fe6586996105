import type { Clock } from '../../core/clock.ts';
import { Failure } from '../../core/errors.ts';
import type { WorkerId } from '../../core/ids.ts';
import type { Upstream } from '../proxy/upstream.ts';
import type { ClientExchange } from '../wire/client-exchange.ts';
import type { Attempt, Backend, BalancedWorker } from './backend.ts';

/**
 * Distributes the requests of one load-balancing endpoint to its workers, in the memory of one process. It does no I/O:
 * `update` gives it the workers, and it decides where each request goes or that it waits.
 *
 * - A worker can be chosen when it is ready and has fewer requests in flight than its concurrency (choose-backend.ts).
 * - When there is none, the request is held, first in, first out, up to `maxHeld`.
 * - A worker that could not be reached is avoided for a moment, never for good: requests that have not tried it may still
 *   go to it, and when it is the only one, the others wait and try again.
 * - Every request that got a worker releases it, however it ends.
 */

/** The client of a held request. */
type Client = Pick<ClientExchange, 'isOver' | 'onGone'>;

interface Held {
  attempt: Attempt;
  /** ms since 1970. */
  heldAt: number;
  settle: (backend: Backend | Failure) => void;
}

const FIRST_RETRY_MS = 25;
const MAX_RETRY_MS = 1_000;

export class RequestBalancer {
  readonly #maxHeld: () => number;
  readonly #onChange: (isUrgent: boolean) => void;
  readonly #clock: Clock;
  readonly #monotonic: Clock;
  readonly #connect: (id: WorkerId, at: { host: string; port: number }) => Upstream;
  readonly #backends = new Map<WorkerId, Backend>();
  #ready: Backend[] = [];
  readonly #held = new Set<Held>();
  #inFlight = 0;
  /** The latest `avoidUntil` of all workers. */
  #avoidUntil = 0;
  #retryTimer: NodeJS.Timeout | undefined;

  /** `onChange`: called when held or in-flight requests change; urgently when the set of workers in use does. */
  constructor(options: {
    maxHeld: () => number;
    onChange: (isUrgent: boolean) => void;
    clock: Clock;
    monotonic: Clock;
    connect: (id: WorkerId, at: { host: string; port: number }) => Upstream;
  }) {
    this.#maxHeld = options.maxHeld;
    this.#onChange = options.onChange;
    this.#clock = options.clock;
    this.#monotonic = options.monotonic;
    this.#connect = options.connect;
  }

  get held(): number {
    return this.#held.size;
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  /** ms since 1970; null when nothing is held. */
  get oldestHeldAt(): number | null {
    for (const { heldAt } of this.#held) return heldAt;
    return null;
  }

  /** Requests in flight of every worker that may get requests from this process, or still has some. */
  inUse(): Record<WorkerId, number> {
    const used: Record<WorkerId, number> = {};
    for (const { id, state, inFlight } of this.#backends.values()) {
      if (state === 'ready' || inFlight > 0) used[id] = inFlight;
    }
    return used;
  }

  has(id: WorkerId): boolean {
    return this.#backends.has(id);
  }

  /** Replaces the set of workers. Those that are gone stay until their last request has ended. */
  update(workers: readonly BalancedWorker[]): void {
    const before = this.#ready.map(({ id }) => id).join();
    for (const worker of workers) this.#upsert(worker);
    const present = new Set(workers.map(({ id }) => id));
    for (const backend of this.#backends.values()) {
      if (present.has(backend.id)) continue;
      if (backend.inFlight > 0) Object.assign(backend, { state: 'draining' } satisfies Partial<BalancedWorker>);
      else this.#drop(backend);
    }
    this.#ready = [...this.#backends.values()].filter(({ state }) => state === 'ready');
    this.#dispatch();
    if (this.#ready.map(({ id }) => id).join() !== before) this.#onChange(true);
  }

  /** Chooses a worker and counts the request as in flight; undefined when it has to wait. Throws as `chooseBackend`. */
  acquire(attempt: Attempt): Backend | undefined {
    const now = attempt.unreachable || this.#avoidUntil > 0 ? this.#monotonic.now() : Number.POSITIVE_INFINITY;
    if (this.#avoidUntil <= now) this.#avoidUntil = 0;
    if (attempt.unreachable && attempt.retryAt <= now) attempt.unreachable = undefined;
    const backend = chooseBackend(this.#backends, this.#ready, attempt, now);
    if (!backend) return undefined;
    backend.inFlight += 1;
    this.#inFlight += 1;
    this.#onChange(false);
    return backend;
  }

  /**
   * Holds the request until there is a worker for it. Resolves with undefined after `waitMs`, or when the client has gone;
   * rejects when too many are held, or when the worker that it insists on goes.
   */
  hold(attempt: Attempt, client: Client, waitMs: number): Promise<Backend | undefined> {
    if (this.#held.size >= this.#maxHeld()) return Promise.reject(this.#full());
    if (client.isOver) return Promise.resolve(undefined);
    return new Promise((resolve, reject) => {
      const settle = (result: Backend | Failure | undefined) => {
        this.#held.delete(held);
        clearTimeout(timer);
        client.onGone = null;
        this.#onChange(false);
        if (result instanceof Failure) reject(result);
        else resolve(result);
      };
      const timer = setTimeout(settle, waitMs, undefined);
      const held: Held = { attempt, heldAt: this.#clock.now(), settle };
      const onGone = () => settle(undefined);
      client.onGone = onGone; // a function written here would be born old (docs/decisions/0059-requests-that-stay-young.md)
      this.#held.add(held);
      if (attempt.unreachable) this.#retryIn(attempt.retryAt - this.#monotonic.now());
      this.#onChange(false);
    });
  }

  refuseHeld(failure: () => Failure): void {
    for (const held of this.#held) held.settle(failure());
  }

  /** Refuses held requests and drops all workers: the endpoint is gone. */
  close(failure: () => Failure): void {
    clearTimeout(this.#retryTimer);
    this.refuseHeld(failure);
    this.update([]);
  }

  /** The request has ended, however. */
  release(backend: Backend): void {
    backend.inFlight -= 1;
    this.#inFlight -= 1;
    const isLast = backend.state === 'draining' && backend.inFlight === 0;
    if (isLast) this.#drop(backend);
    if (this.#held.size > 0) this.#dispatch();
    this.#onChange(isLast);
  }

  /** Marks a worker that could not be connected to, for this request and for others. True for a new failure. */
  markUnreachable(backend: Backend, attempt: Attempt): boolean {
    const now = this.#monotonic.now();
    const pauseMs = Math.min(MAX_RETRY_MS, FIRST_RETRY_MS * 2 ** backend.connectFailures);
    const isNew = backend.avoidUntil <= now; // failures of concurrent requests count once
    if (isNew) {
      backend.connectFailures += 1;
      backend.avoidUntil = now + pauseMs;
      this.#avoidUntil = Math.max(this.#avoidUntil, backend.avoidUntil);
    }
    attempt.unreachable ??= new Set();
    attempt.unreachable.add(backend.id);
    attempt.retryAt = backend.avoidUntil;
    return isNew;
  }

  markReachable(backend: Backend): void {
    backend.connectFailures = 0;
    backend.avoidUntil = 0;
  }

  #upsert(worker: BalancedWorker): void {
    const backend = this.#backends.get(worker.id) ?? {
      ...worker,
      upstream: undefined,
      answerHeaders: ['X-Runpod-Worker-Id', worker.id],
      inFlight: 0,
      connectFailures: 0,
      avoidUntil: 0,
    };
    this.#backends.set(worker.id, Object.assign(backend, worker));
    if (worker.state === 'ready' && worker.at) backend.upstream ??= this.#connect(worker.id, worker.at);
  }

  /** Gives workers to held requests, oldest first. */
  #dispatch(): void {
    for (const held of this.#held) {
      const { affinity } = held.attempt;
      try {
        const backend = this.acquire(held.attempt);
        if (backend) held.settle(backend);
        else if ((!affinity || affinity.kind === 'soft') && !held.attempt.unreachable) break; // no capacity: stop dispatching
      } catch (error) {
        held.settle(error as Failure);
      }
    }
  }

  #drop(backend: Backend): void {
    this.#backends.delete(backend.id);
    backend.upstream?.close();
  }

  #retryIn(delayMs: number): void {
    this.#retryTimer ??= setTimeout(
      () => {
        this.#retryTimer = undefined;
        this.#dispatch();
        let next = Number.POSITIVE_INFINITY;
        for (const { attempt } of this.#held) if (attempt.unreachable) next = Math.min(next, attempt.retryAt);
        if (next < Number.POSITIVE_INFINITY) this.#retryIn(next - this.#monotonic.now());
      },
      Math.max(1, delayMs),
    );
  }

  #full(): Failure {
    const detail = `this endpoint is full: ${this.#inFlight} requests are in flight and ${this.#held.size} are held`;
    return new Failure('tooManyRequests', detail, { retryAfterSeconds: 1 });
  }
}

/**
 * Chooses the worker for a request: the one it has an affinity to, else the ready one with the fewest requests in flight;
 * among equals one of the newest release, then one at random. Undefined when the request has to wait. Throws when it
 * requires a worker that is gone.
 */
function chooseBackend(
  backends: ReadonlyMap<WorkerId, Backend>,
  ready: readonly Backend[],
  attempt: Attempt,
  now: number,
): Backend | undefined {
  const { affinity } = attempt;
  if (affinity) {
    const wanted = backends.get(affinity.workerId as WorkerId);
    if (wanted && hasCapacity(wanted) && !attempt.unreachable?.has(wanted.id)) return wanted;
    if (affinity.kind !== 'soft') {
      if (wanted === undefined || wanted.state === 'draining') throw affinityGone();
      if (wanted.state === 'frozen' && affinity.kind === 'strict') throw affinityGone();
      return undefined;
    }
  }
  return leastBusy(ready, attempt, now);
}

function leastBusy(ready: readonly Backend[], { unreachable }: Attempt, now: number): Backend | undefined {
  let best: Backend | undefined;
  let ties = 1;
  for (const backend of ready) {
    if (backend.inFlight >= backend.concurrency || unreachable?.has(backend.id)) continue;
    const order = best === undefined ? -1 : compare(backend, best, now);
    if (order < 0) {
      best = backend;
      ties = 1;
    } else if (order === 0) {
      ties += 1;
      if (Math.random() * ties < 1) best = backend;
    }
  }
  return best;
}

function hasCapacity({ state, inFlight, concurrency }: Backend): boolean {
  return state === 'ready' && inFlight < concurrency;
}

/** Negative when `a` is the better choice. */
function compare(a: Backend, b: Backend, now: number): number {
  const avoided = Number(a.avoidUntil > now) - Number(b.avoidUntil > now);
  return avoided || a.inFlight - b.inFlight || b.version - a.version;
}

/** docs/interface/queue.md, "Affinity". */
function affinityGone(): Failure {
  return new Failure('notFound', 'affinity_worker_gone: the worker that X-Runpod-Worker-Id names is gone');
}
