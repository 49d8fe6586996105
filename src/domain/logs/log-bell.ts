import { BoundedSet } from '../../core/bounded-map.ts';
import { Batcher } from '../../core/flow/batcher.ts';
import type { Bus } from '../../db/bus.ts';
import type { Db } from '../../db/pool.ts';
import type { LogScope } from './log-scope.ts';

/** Workloads of others that a bell remembers. */
const MAX_OTHERS = 10_000;

interface Deps {
  db: Db;
  bus: Pick<Bus, 'subscribe'>;
  scope: LogScope;
  signal: AbortSignal;
}

/** Rings when lines of a scope are stored. Keeps a ring until the next wait, so that a hint during a read is not lost. */
export class LogBell {
  readonly #deps: Deps;
  readonly #unsubscribe: () => void;
  readonly #onAbort = () => this.#ring();
  readonly #own = new Set<string>();
  readonly #others = new BoundedSet<string>(MAX_OTHERS);
  /** A hint names a workload, not its endpoint. Those that come together are looked up together, each once. */
  readonly #workers = new Batcher<string, boolean>({
    lanes: 1,
    maxSize: 500,
    isCallFault: () => false,
    flush: (ids) => this.#findWorkers(ids),
  });
  #hasRung = false;
  #answer: (() => void) | undefined;

  constructor(deps: Deps) {
    this.#deps = deps;
    if ('workloadId' in deps.scope) this.#own.add(deps.scope.workloadId);
    this.#unsubscribe = deps.bus.subscribe('log', (id) => this.#onHint(id));
    deps.signal.addEventListener('abort', this.#onAbort);
  }

  close(): void {
    this.#deps.signal.removeEventListener('abort', this.#onAbort);
    this.#unsubscribe();
  }

  /** Waits for a ring since the last call; false after `timeoutMs`. */
  async heard(timeoutMs: number): Promise<boolean> {
    if (!this.#hasRung && !this.#deps.signal.aborted) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, timeoutMs);
        this.#answer = () => {
          clearTimeout(timer);
          resolve();
        };
      });
      this.#answer = undefined;
    }
    const hasRung = this.#hasRung;
    this.#hasRung = false;
    return hasRung;
  }

  #ring(): void {
    this.#hasRung = true;
    this.#answer?.();
  }

  #onHint(id: string): void {
    if (this.#own.has(id)) this.#ring();
    else if ('endpointId' in this.#deps.scope && !this.#others.has(id)) void this.#lookUp(id);
  }

  async #lookUp(id: string): Promise<void> {
    const isOwn = await this.#workers.run(id).catch(() => undefined);
    if (isOwn !== undefined) (isOwn ? this.#own : this.#others).add(id);
    if (isOwn !== false) this.#ring(); // a needless read rather than a missed line
  }

  async #findWorkers(ids: readonly string[]): Promise<boolean[]> {
    const { db, scope } = this.#deps;
    const found = await db.query<{ id: string }>(
      'select id from workers where id = any($1::text[]) and endpoint_id = $2',
      [ids, 'endpointId' in scope ? scope.endpointId : ''],
    );
    const own = new Set(found.rows.map((row) => row.id));
    return ids.map((id) => own.has(id));
  }
}
