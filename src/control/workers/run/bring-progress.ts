import type { Clock } from '../../../core/clock.ts';
import type { Pool } from '../../../db/pool.ts';
import { type ControlledWorker, markBringing } from '../../../domain/workers/worker-lifecycle.ts';
import type { LogCollector } from '../../workloads/collect-logs.ts';

/** A pull or a fetch that takes longer is a stage of the worker's timeline. */
const WORTH_A_STAGE_MS = 100;

export interface ProgressDeps {
  pool: Pool;
  clock: Clock;
  logs: Pick<LogCollector, 'system'>;
}

/**
 * How the pull of a waiting worker's image, or the fetch of its models, goes: lines of its log and, if it lasts, a stage of its
 * timeline, with the latest line as the reason why the worker has not started yet.
 */
export class BringProgress {
  readonly #deps: ProgressDeps;
  readonly #id: ControlledWorker['id'];
  readonly #stage: 'pull' | 'models';
  readonly #begunAt: Date;
  #timer: NodeJS.Timeout | undefined;
  #line = '';
  #isStage = false;
  #isEnded = false;
  #written = Promise.resolve();

  constructor(deps: ProgressDeps, { id }: ControlledWorker, stage: 'pull' | 'models') {
    this.#deps = deps;
    this.#id = id;
    this.#stage = stage;
    this.#begunAt = new Date(deps.clock.now());
  }

  /** Takes a line. There is none where nothing has to be brought. */
  take(line: string): void {
    if (this.#isEnded) return; // a pull goes on for the next worker
    this.#deps.logs.system(this.#id, line);
    this.#line = line.charAt(0).toLowerCase() + line.slice(1);
    if (this.#isStage) this.#write();
    this.#timer ??= setTimeout(() => {
      this.#isStage = true;
      this.#write();
    }, WORTH_A_STAGE_MS).unref();
  }

  /** Call it in any case; writes nothing from then on. `isThere`: it was brought. */
  async end(isThere: boolean): Promise<void> {
    this.#isEnded = true;
    clearTimeout(this.#timer);
    await this.#written;
    if (isThere && this.#isStage) await this.#mark({ endedAt: new Date(this.#deps.clock.now()), progress: null });
  }

  #write(): void {
    const marks = { endedAt: null, progress: this.#line };
    this.#written = this.#written.then(() => this.#mark(marks)).catch(() => {}); // it is shown only
  }

  #mark(marks: { endedAt: Date | null; progress: string | null }): Promise<void> {
    return markBringing(this.#deps.pool, this.#id, this.#stage, { begunAt: this.#begunAt, ...marks });
  }
}
