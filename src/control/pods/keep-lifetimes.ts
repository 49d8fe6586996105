import type { Clock } from '../../core/clock.ts';
import type { Logger } from '../../core/logger.ts';
import { Loop, type NextRun } from '../../core/loop.ts';
import type { Bus } from '../../db/bus.ts';
import type { Pool } from '../../db/pool.ts';
import { type DuePod, forgetStop, listDuePods, stopDuePod, terminateDuePod } from '../../domain/pods/pod-lifetime.ts';
import { decideDeadline } from './decide-deadline.ts';

/** While no time is near: the clock may jump. */
const TICK_MS = 30_000;

interface Deps {
  pool: Pool;
  bus: Bus;
  clock: Clock;
  logger: Logger;
}

/**
 * Stops and terminates pods at the times that their users set. It only writes what is wanted, with the reason: PodRunner
 * carries that out. Times are in the table, so a restart loses none; what came due meanwhile is done at once.
 */
export class LifetimeKeeper {
  readonly #deps: Deps;
  readonly #loop: Loop;
  #unsubscribe: (() => void) | undefined;

  constructor({ pool, bus, clock, logger }: Deps) {
    this.#deps = { pool, bus, clock, logger };
    this.#loop = new Loop({ name: 'pod-lifetimes', tickMs: TICK_MS, logger, runOnce: () => this.#run() });
  }

  start(): void {
    this.#unsubscribe = this.#deps.bus.subscribe('pod', () => this.#loop.wake());
    this.#loop.start();
  }

  async stop(): Promise<void> {
    this.#unsubscribe?.();
    await this.#loop.stop();
  }

  runOnce(): Promise<void> {
    return this.#loop.runOnce();
  }

  async #run(): Promise<NextRun | undefined> {
    const { pool, clock } = this.#deps;
    const now = clock.now();
    const { due, nextAt } = await listDuePods(pool, now);
    for (const pod of due) await this.#act(pod, now);
    return nextAt === null ? undefined : { inMs: Math.min(TICK_MS, nextAt.getTime() - now) };
  }

  async #act(pod: DuePod, now: number): Promise<void> {
    const { pool } = this.#deps;
    const action = decideDeadline(pod, now);
    if (action.do === 'forget') await forgetStop(pool, pod);
    else if (action.do !== 'nothing') {
      const carryOut = action.do === 'stop' ? stopDuePod : terminateDuePod;
      if (await carryOut(pool, pod, action.reason)) this.#report(pod, action);
    }
  }

  #report({ id, userId }: DuePod, action: { do: 'stop' | 'terminate'; reason: string }): void {
    const { bus, logger } = this.#deps;
    logger.info({ userId, podId: id, reason: action.reason }, `pod ${action.do} at its time`);
    bus.publish('pod', id);
  }
}
