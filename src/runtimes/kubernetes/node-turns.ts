import { Slots } from './slots.ts';

/** So many answers are waited for at a time: each is a connection, and thousands at once would be a storm. */
const AT_ONCE = 32;
/** Of nodes that failed before: some take long to say nothing, and others shall not wait behind them. */
const AGAIN_AT_ONCE = 8;
const FIRST_PAUSE_MS = 5_000;
const LONGEST_PAUSE_MS = 300_000;
/** Names of nodes come and go. */
const MAX_REMEMBERED = 10_000;

interface NodeState {
  /** It answered, and nothing else is known since. */
  isFine: boolean;
  /** Somebody waits for its answer on behalf of all. */
  isAsked: boolean;
  failures: number;
  /** Nobody asks before. */
  until: number;
  changed: PromiseWithResolvers<void>;
}

/** A permission to ask a node once. `end` it, however it went. */
export interface NodeTurn {
  /** It answers: the others may ask, too. */
  heard(): void;
  /** It says nothing, as a node does whose program prints nothing: the others may ask, too. It may yet fail. */
  quiet(): void;
  /** It cannot be reached. */
  failed(): void;
  end(): void;
}

/**
 * Thousands of readers follow logs, which the API server fetches from the nodes. A node that does not answer is asked by one
 * reader on behalf of all, and less and less often; so is one that nobody has heard of yet.
 */
export class NodeTurns {
  readonly #nodes = new Map<string, NodeState>();
  readonly #first = new Slots(AT_ONCE);
  readonly #again = new Slots(AGAIN_AT_ONCE);

  /** Resolves when the caller may ask; undefined when the signal aborted before. */
  async take(name: string, signal: AbortSignal): Promise<NodeTurn | undefined> {
    const node = this.#find(name);
    while (!signal.aborted) {
      if (!node.isFine && (node.isAsked || performance.now() < node.until)) {
        await this.#change(node, signal);
        continue;
      }
      const isForAll = !node.isFine;
      if (isForAll) node.isAsked = true;
      const slots = node.failures > 0 ? this.#again : this.#first;
      const turn = turnOf(node, isForAll, await slots.take());
      if (!signal.aborted && (isForAll || node.isFine)) return turn;
      turn.end();
    }
    return undefined;
  }

  /** Resolves when it may be worth another look. */
  async #change({ isAsked, until, changed }: NodeState, signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const look = () => resolve();
    const timer = isAsked ? undefined : setTimeout(look, Math.max(1, until - performance.now())).unref();
    signal.addEventListener('abort', look);
    changed.promise.then(look);
    await promise;
    clearTimeout(timer);
    signal.removeEventListener('abort', look);
  }

  #find(name: string): NodeState {
    const known = this.#nodes.get(name);
    if (known) return known;
    if (this.#nodes.size >= MAX_REMEMBERED) this.#nodes.clear();
    const node = { isFine: false, isAsked: false, failures: 0, until: 0, changed: Promise.withResolvers<void>() };
    this.#nodes.set(name, node);
    return node;
  }
}

function turnOf(node: NodeState, isForAll: boolean, leave: () => void): NodeTurn {
  let isOver = false;
  const end = () => {
    if (isOver) return;
    isOver = true;
    leave();
    if (!isForAll) return;
    node.isAsked = false;
    node.changed.resolve();
    node.changed = Promise.withResolvers();
  };
  return {
    heard: () => {
      node.isFine = true;
      node.failures = 0;
      end();
    },
    quiet: () => {
      if (!isOver) node.isFine = true;
      end();
    },
    failed: () => {
      if ((isForAll && !isOver) || node.isFine) noteFailure(node); // else somebody has found it out already
      end();
    },
    end,
  };
}

function noteFailure(node: NodeState): void {
  node.isFine = false;
  node.failures += 1;
  const pauseMs = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(node.failures - 1, 10));
  node.until = performance.now() + pauseMs * (0.75 + Math.random() / 2);
}
