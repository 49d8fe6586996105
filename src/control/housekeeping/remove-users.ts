import type { UserId } from '../../core/ids.ts';
import type { Logger } from '../../core/logger.ts';
import { Loop, type NextRun } from '../../core/loop.ts';
import type { Bus } from '../../db/bus.ts';
import type { Pool } from '../../db/pool.ts';
import { listRemovedUsers, removeUser } from '../../domain/users/remove-user.ts';

const TICK_MS = 60_000;
/** While a deletion waits for workers and containers to end. */
const BUSY_TICK_MS = 2_000;

interface Deps {
  pool: Pool;
  bus: Bus;
  logger: Logger;
}

/** Deletes users with what they own, once an admin requested it. One that cannot be deleted keeps no other from being. */
export class UserRemover {
  readonly #deps: Deps;
  readonly #loop: Loop;
  #unsubscribe: (() => void) | undefined;
  #isStopped = false;

  constructor({ pool, bus, logger }: Deps) {
    this.#deps = { pool, bus, logger };
    this.#loop = new Loop({ name: 'remove-users', tickMs: TICK_MS, logger, runOnce: () => this.#run() });
  }

  start(): void {
    this.#isStopped = false;
    this.#unsubscribe = this.#deps.bus.subscribe('user', () => this.#loop.wake());
    this.#loop.start();
  }

  /** A deletion of thousands of endpoints ends after the one in progress. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#unsubscribe?.();
    await this.#loop.stop();
  }

  runOnce(): Promise<void> {
    return this.#loop.runOnce();
  }

  async #run(): Promise<NextRun | undefined> {
    let left = 0;
    let failure: unknown;
    for (const userId of await listRemovedUsers(this.#deps.pool)) {
      if (this.#isStopped) return undefined;
      try {
        if (!(await this.#remove(userId))) left += 1;
      } catch (error) {
        failure = error;
      }
    }
    if (failure !== undefined) throw failure;
    return left > 0 ? { inMs: BUSY_TICK_MS } : undefined;
  }

  async #remove(userId: UserId): Promise<boolean> {
    const left = await removeUser(this.#deps, userId, () => this.#isStopped);
    if (left === null) this.#deps.logger.info({ userId }, 'user deleted');
    return left === null;
  }
}
