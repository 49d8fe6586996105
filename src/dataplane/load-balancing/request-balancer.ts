import { Failure } from '../../core/errors.ts';
import type { WorkerId } from '../../core/ids.ts';
import type { ClientExchange, RawHeaders } from '../proxy/client-exchange.ts';
import type { Upstream } from '../proxy/upstream.ts';

/**
 * Who gets which request of one load-balancing endpoint, in the memory of one process. No I/O: it is told which workers
 * there are, and it says where each request goes, or that it has to wait.
 *
 * - A worker is chosen when it is ready and has fewer requests in flight than its concurrency; of those the one with the
 *   fewest, among equals one of the newest release, then one at random.
 * - When there is none, the request is held: first come, first served, up to `maxHeld`.
 * - A worker that could not be reached is left to others for a moment, never for good: a request that it has not refused
 *   yet may still go to it, and when it is the only one, the request waits and tries again.
 * - Every request that got a worker gives it back with `release`, whatever became of it.
 */

export interface BalancedWorker {
  readonly id: WorkerId;
  readonly version: number;
  /** `waiting`: it is on its way to being ready, or ill. `leaving`: it finishes what it has and gets nothing more. */
  readonly state: 'ready' | 'waiting' | 'frozen' | 'leaving';
  /** How many requests it may have in flight. */
  readonly concurrency: number;
  /** Where it takes requests; null before it was ready. */
  readonly at: { readonly host: string; readonly port: number } | null;
}

/** A worker with what this process has sent to it. */
export interface Backend extends BalancedWorker {
  /** Its connections. There is one as soon as it is ready. */
  upstream: Upstream | undefined;
  /** What answers that come from it carry. */
  readonly answerHeaders: RawHeaders;
  inFlight: number;
  /** In a row. */
  connectFailures: number;
  /** Others are preferred until then; ms of the clock that is given. */
  avoidUntil: number;
}

/** What the client asks for with `X-Runpod-Worker-Id` (docs/interface/queue.md, "Affinity"). */
export interface Affinity {
  workerId: string;
  /** `soft`: this one rather than others. `strict`: only this one. `strict-resume`: and if it is frozen, wait for it. */
  kind: 'soft' | 'strict' | 'strict-resume';
}

/** One request on its way to a worker. */
export interface Attempt {
  readonly affinity: Affinity | undefined;
  /** Workers that could not be reached for it. */
  unreachable: Set<WorkerId> | undefined;
  /** From then on it tries those again. */
  retryAt: number;
}

/** The client that waits, as a `ClientExchange` tells of it. */
type Client = Pick<ClientExchange, 'isOver' | 'onGone'>;

/** A request that waits for a worker. */
interface Held {
  attempt: Attempt;
  heldAt: number;
  settle: (backend: Backend | Failure) => void;
}

const FIRST_RETRY_MS = 25;
const LAST_RETRY_MS = 1_000;

export class RequestBalancer {
  readonly #maxHeld: () => number;
  readonly #onChange: (isUrgent: boolean) => void;
  readonly #now: () => number;
  readonly #connect: (id: WorkerId, at: { host: string; port: number }) => Upstream;
  readonly #backends = new Map<WorkerId, Backend>();
  #ready: Backend[] = [];
  readonly #held = new Set<Held>();
  #inFlight = 0;
  #retryTimer: NodeJS.Timeout | undefined;

  /** `onChange` is called when what is held or in flight changes; urgently when the set of workers in use does. */
  constructor(options: {
    maxHeld: () => number;
    onChange: (isUrgent: boolean) => void;
    now: () => number;
    connect: (id: WorkerId, at: { host: string; port: number }) => Upstream;
  }) {
    this.#maxHeld = options.maxHeld;
    this.#onChange = options.onChange;
    this.#now = options.now;
    this.#connect = options.connect;
  }

  get held(): number {
    return this.#held.size;
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  get oldestHeldAt(): number | null {
    for (const { heldAt } of this.#held) return heldAt;
    return null;
  }

  /** Requests in flight of every worker that may get one from here, or still has one. */
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

  /** Takes over the workers there are now. Those that are gone stay until their last request has ended. */
  update(workers: readonly BalancedWorker[]): void {
    const before = this.#ready.map(({ id }) => id).join();
    const present = new Set<WorkerId>();
    for (const worker of workers) {
      present.add(worker.id);
      const backend = this.#backends.get(worker.id) ?? {
        ...worker,
        upstream: undefined,
        answerHeaders: ['X-Runpod-Worker-Id', worker.id],
        inFlight: 0,
        connectFailures: 0,
        avoidUntil: 0,
      };
      this.#backends.set(worker.id, Object.assign(backend, worker));
      if (worker.state === 'ready' && worker.at) {
        backend.upstream ??= this.#connect(worker.id, worker.at);
      }
    }
    for (const backend of this.#backends.values()) {
      if (present.has(backend.id)) continue;
      if (backend.inFlight > 0) Object.assign(backend, { state: 'leaving' } satisfies Partial<BalancedWorker>);
      else this.#drop(backend);
    }
    this.#ready = [...this.#backends.values()].filter(({ state }) => state === 'ready');
    this.#dispatch();
    if (this.#ready.map(({ id }) => id).join() !== before) this.#onChange(true);
  }

  /** A worker for the request, counted as in flight; undefined when it has to wait. Throws when it asks for one that is gone. */
  acquire(attempt: Attempt): Backend | undefined {
    const backend = this.#choose(attempt);
    if (!backend) return undefined;
    backend.inFlight += 1;
    this.#inFlight += 1;
    this.#onChange(false);
    return backend;
  }

  /**
   * Waits until there is a worker for it. Undefined when there was none for `waitMs`, or when the client has gone; rejects
   * when too many wait already, or when the worker it insists on goes.
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
      const held: Held = { attempt, heldAt: this.#now(), settle };
      client.onGone = () => settle(undefined);
      this.#held.add(held);
      if (attempt.unreachable) this.#retryIn(attempt.retryAt - this.#now());
      this.#onChange(false);
    });
  }

  refuseHeld(failure: () => Failure): void {
    for (const held of this.#held) held.settle(failure());
  }

  /** The endpoint is gone: refuses what is held, and nothing new can be sent. */
  close(failure: () => Failure): void {
    clearTimeout(this.#retryTimer);
    this.refuseHeld(failure);
    this.update([]);
  }

  /** The request has ended, well or badly. */
  release(backend: Backend): void {
    backend.inFlight -= 1;
    this.#inFlight -= 1;
    const isLast = backend.state === 'leaving' && backend.inFlight === 0;
    if (isLast) this.#drop(backend);
    if (this.#held.size > 0) this.#dispatch();
    this.#onChange(isLast);
  }

  /**
   * It could not be reached: nothing of the request was sent. Notes it for the request and for the next ones; true when
   * it is news.
   */
  markUnreachable(backend: Backend, attempt: Attempt): boolean {
    const now = this.#now();
    const pauseMs = Math.min(LAST_RETRY_MS, FIRST_RETRY_MS * 2 ** backend.connectFailures);
    const isNews = backend.avoidUntil <= now; // requests that were on their way together count as one refusal
    if (isNews) {
      backend.connectFailures += 1;
      backend.avoidUntil = now + pauseMs;
    }
    attempt.unreachable ??= new Set();
    attempt.unreachable.add(backend.id);
    attempt.retryAt = backend.avoidUntil;
    return isNews;
  }

  markReachable(backend: Backend): void {
    backend.connectFailures = 0;
    backend.avoidUntil = 0;
  }

  #choose(attempt: Attempt): Backend | undefined {
    const { affinity } = attempt;
    if (attempt.unreachable && attempt.retryAt <= this.#now()) attempt.unreachable = undefined;
    if (affinity) {
      const wanted = this.#backends.get(affinity.workerId as WorkerId);
      if (wanted && hasRoom(wanted) && !attempt.unreachable?.has(wanted.id)) return wanted;
      if (affinity.kind !== 'soft') {
        if (wanted === undefined || wanted.state === 'leaving') throw affinityGone();
        if (wanted.state === 'frozen' && affinity.kind === 'strict') throw affinityGone();
        return undefined;
      }
    }
    return this.#leastBusy(attempt);
  }

  #leastBusy({ unreachable }: Attempt): Backend | undefined {
    const now = this.#ready.length > 1 ? this.#now() : 0;
    let best: Backend | undefined;
    let ties = 1;
    for (const backend of this.#ready) {
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

  /** Gives workers to those that wait, oldest first. */
  #dispatch(): void {
    if (this.#held.size === 0) return;
    for (const held of this.#held) {
      const { affinity } = held.attempt;
      try {
        const backend = this.acquire(held.attempt);
        if (backend) held.settle(backend);
        else if ((!affinity || affinity.kind === 'soft') && !held.attempt.unreachable) break; // nor for those behind it
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
        if (next < Number.POSITIVE_INFINITY) this.#retryIn(next - this.#now());
      },
      Math.max(1, delayMs),
    );
  }

  #full(): Failure {
    const detail = `this endpoint is full: ${this.#inFlight} requests are in flight and ${this.#held.size} wait, as many as may`;
    return new Failure('tooManyRequests', detail, { retryAfterSeconds: 1 });
  }
}

function hasRoom({ state, inFlight, concurrency }: Backend): boolean {
  return state === 'ready' && inFlight < concurrency;
}

/** Negative when `a` is the better one. */
function compare(a: Backend, b: Backend, now: number): number {
  const avoided = Number(a.avoidUntil > now) - Number(b.avoidUntil > now);
  return avoided || a.inFlight - b.inFlight || b.version - a.version;
}

/** docs/interface/queue.md, "Affinity": the worker that a client insists on is no more. */
function affinityGone(): Failure {
  return new Failure('notFound', 'affinity_worker_gone: the worker that X-Runpod-Worker-Id names is gone');
}
