import { BoundedMap } from '../../../core/bounded-map.ts';
import { type Clock, monotonicClock } from '../../../core/clock.ts';
import { Semaphore } from '../../../core/flow/semaphore.ts';

/** Requests whose response is awaited at a time. Each is a connection; thousands at once would be a storm. */
const CONCURRENT = 32;
/** The same for nodes that failed before: some take long to fail, and others must not wait behind them. */
const CONCURRENT_RETRIES = 8;
const FIRST_PAUSE_MS = 5_000;
const LONGEST_PAUSE_MS = 300_000;
const MAX_NODES = 10_000;

interface NodeState {
  /** Its last answer was good. */
  isHealthy: boolean;
  /** One reader waits for its answer on behalf of all. */
  isProbed: boolean;
  failures: number;
  /** No probe before this moment. */
  retryAt: number;
  changed: PromiseWithResolvers<void>;
}

/** Permission for one request to a node. Call `end` in any case. */
export interface NodePermit {
  /** The node answered: lets the others in. */
  succeeded(): void;
  /** The node has not answered yet, as when the program prints nothing: lets the others in. It may still fail. */
  pending(): void;
  /** The node cannot be reached. */
  failed(): void;
  end(): void;
}

/**
 * Thousands of readers follow logs, which the API server fetches from the nodes. A node that is new or has failed is probed
 * by one reader on behalf of all; after a failure, with growing pauses.
 */
export class NodeCircuitBreaker {
  readonly #clock: Clock;
  readonly #nodes = new BoundedMap<string, NodeState>(MAX_NODES);
  readonly #requests = new Semaphore(CONCURRENT);
  readonly #retries = new Semaphore(CONCURRENT_RETRIES);

  constructor(clock: Clock = monotonicClock) {
    this.#clock = clock;
  }

  /** Resolves once the caller may ask the node; with undefined when the signal aborted before. */
  async acquire(name: string, signal: AbortSignal): Promise<NodePermit | undefined> {
    const node = this.#find(name);
    while (!signal.aborted) {
      if (!node.isHealthy && (node.isProbed || this.#clock.now() < node.retryAt)) {
        await this.#change(node, signal);
        continue;
      }
      const isProbe = !node.isHealthy;
      if (isProbe) node.isProbed = true;
      const slots = node.failures > 0 ? this.#retries : this.#requests;
      const permit = this.#permit(node, isProbe, await slots.acquire());
      if (!signal.aborted && (isProbe || node.isHealthy)) return permit;
      permit.end();
    }
    return undefined;
  }

  /** Resolves when the state may have changed. */
  async #change({ isProbed, retryAt, changed }: NodeState, signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const wake = () => resolve();
    const timer = isProbed ? undefined : setTimeout(wake, Math.max(1, retryAt - this.#clock.now())).unref();
    signal.addEventListener('abort', wake);
    changed.promise.then(wake);
    await promise;
    clearTimeout(timer);
    signal.removeEventListener('abort', wake);
  }

  #find(name: string): NodeState {
    const known = this.#nodes.get(name);
    if (known) return known;
    const node = { isHealthy: false, isProbed: false, failures: 0, retryAt: 0, changed: Promise.withResolvers<void>() };
    this.#nodes.set(name, node);
    return node;
  }

  #permit(node: NodeState, isProbe: boolean, release: () => void): NodePermit {
    let isOver = false;
    const end = () => {
      if (isOver) return;
      isOver = true;
      release();
      if (!isProbe) return;
      node.isProbed = false;
      node.changed.resolve();
      node.changed = Promise.withResolvers();
    };
    return {
      succeeded: () => {
        node.isHealthy = true;
        node.failures = 0;
        end();
      },
      pending: () => {
        if (!isOver) node.isHealthy = true;
        end();
      },
      failed: () => {
        if ((isProbe && !isOver) || node.isHealthy) this.#onFailure(node); // otherwise another reader has noticed
        end();
      },
      end,
    };
  }

  #onFailure(node: NodeState): void {
    node.isHealthy = false;
    node.failures += 1;
    const pauseMs = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(node.failures - 1, 10));
    node.retryAt = this.#clock.now() + pauseMs * (0.75 + Math.random() / 2);
  }
}
