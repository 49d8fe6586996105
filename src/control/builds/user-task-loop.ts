import { Loop, type NextRun } from '../../core/flow/loop.ts';
import type { UserId } from '../../core/ids.ts';
import type { Logger } from '../../core/logger.ts';

/**
 * A loop that starts tasks and does not wait for them: a few at once, and one of each user, so that a host that is silent delays
 * its own user's. The end of a task wakes the loop.
 */
export abstract class UserTaskLoop {
  readonly #loop: Loop;
  readonly #name: string;
  readonly #logger: Logger;
  readonly #atOnce: number;
  readonly #running = new Map<UserId, Promise<void>>();
  readonly #stopping = new AbortController();

  constructor(options: Omit<ConstructorParameters<typeof Loop>[0], 'runOnce'> & { atOnce: number }) {
    this.#loop = new Loop({ ...options, runOnce: () => this.run() });
    this.#name = options.name;
    this.#logger = options.logger;
    this.#atOnce = options.atOnce;
  }

  /** Starts the tasks that are due; told when the next one is. */
  protected abstract run(): Promise<NextRun | undefined>;

  /** Aborts when the loop stops. */
  protected get stopping(): AbortSignal {
    return this.#stopping.signal;
  }

  protected get isIdle(): boolean {
    return this.#running.size === 0;
  }

  /** True when no other task may start. */
  protected get isFull(): boolean {
    return this.#running.size >= this.#atOnce || this.stopping.aborted;
  }

  /** Starts a task unless one of its user runs. An error is logged with `fields`, unless the loop stops. */
  protected startTask(userId: UserId, task: () => Promise<void>, fields: object): void {
    if (this.#running.has(userId)) return;
    const done = task()
      .catch((error: unknown) => {
        if (!this.stopping.aborted) this.#logger.error({ ...fields, err: error }, `${this.#name}: a task failed`);
      })
      .finally(() => {
        this.#running.delete(userId);
        this.#loop.wake();
      });
    this.#running.set(userId, done);
  }

  start(): void {
    this.#loop.start();
  }

  /** Ends what runs; whoever leads next does it again. */
  async stop(): Promise<void> {
    const stopped = this.#loop.stop();
    this.#stopping.abort();
    await stopped;
    await this.whenIdle();
  }

  runOnce(): Promise<void> {
    return this.#loop.runOnce();
  }

  /** Resolves when no task runs. */
  async whenIdle(): Promise<void> {
    while (!this.isIdle) await Promise.all(this.#running.values());
  }
}
