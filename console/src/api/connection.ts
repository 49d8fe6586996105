const FIRST_PAUSE_MS = 1_000;
const MAX_PAUSE_MS = 5_000;

/** The server can work, or cannot since a time, for a reason that it gave itself if it could. */
export type Reach = { isLost: false } | { isLost: true; sinceMs: number; detail: string | null };
export type ProbeResult = { isReached: true } | { isReached: false; detail: string | null };

interface ConnectionDeps {
  probe: () => Promise<ProbeResult>;
  now: () => number;
  /** Resolves after `ms`, or at once when `signal` aborts. */
  sleep: (ms: number, signal: AbortSignal) => Promise<void>;
}

const REACHED: Reach = { isLost: false };

/**
 * Knows whether the server can be reached. A failed request only raises the suspicion; the server counts as lost when it
 * does not answer a probe either. It is then probed until it answers, and `onRestored` listeners bring pages up to date.
 */
export class Connection {
  readonly #deps: ConnectionDeps;
  readonly #listeners = new Set<() => void>();
  readonly #restoredListeners = new Set<() => void>();
  #reach: Reach = REACHED;
  #isChecking = false;
  #pause = new AbortController();

  constructor(deps: ConnectionDeps) {
    this.#deps = deps;
  }

  readonly reach = (): Reach => this.#reach;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  /** Calls `listener` each time a lost server answers again. Returns what unsubscribes it. */
  onRestored(listener: () => void): () => void {
    this.#restoredListeners.add(listener);
    return () => this.#restoredListeners.delete(listener);
  }

  /** Probes the server because a request failed. Resolves when it answers: at once, or once it is back. */
  async suspect(): Promise<void> {
    if (this.#isChecking) return this.#restored();
    this.#isChecking = true;
    const sinceMs = this.#deps.now();
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(MAX_PAUSE_MS, pauseMs * 2)) {
      const result = await this.#deps.probe();
      if (result.isReached) break;
      this.#set({ isLost: true, sinceMs, detail: result.detail });
      this.#pause = new AbortController();
      await this.#deps.sleep(pauseMs, this.#pause.signal);
    }
    this.#isChecking = false;
    const wasLost = this.#reach.isLost;
    this.#set(REACHED);
    if (wasLost) for (const listener of [...this.#restoredListeners]) listener();
  }

  /** Ends the pause before the next probe. */
  tryNow(): void {
    this.#pause.abort();
  }

  #restored(): Promise<void> {
    return new Promise((resolve) => {
      const unsubscribe = this.subscribe(() => {
        if (this.#reach.isLost) return;
        unsubscribe();
        resolve();
      });
    });
  }

  #set(reach: Reach): void {
    this.#reach = reach;
    for (const listener of [...this.#listeners]) listener();
  }
}

const TIMEOUT_MS = 5_000;

/** Asks the server whether it can work. What a proxy answers in its place counts as no answer. */
export async function probeServer(fetchFn: typeof fetch, baseUrl: string): Promise<ProbeResult> {
  try {
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const response = await fetchFn(`${baseUrl}/readyz`, { cache: 'no-store', signal });
    if (response.status < 500) return { isReached: true };
    const problem = (await response.json().catch(() => ({}))) as { detail?: unknown };
    return { isReached: false, detail: typeof problem.detail === 'string' ? problem.detail : null };
  } catch {
    return { isReached: false, detail: null };
  }
}

/** True for the statuses of a server that can't work now, or of a proxy that can't reach it. */
export function isAway(status: number): boolean {
  return status === 0 || status === 502 || status === 503 || status === 504;
}
