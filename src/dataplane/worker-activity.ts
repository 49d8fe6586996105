import type { Clock } from '../core/clock.ts';
import { Loop, type NextRun } from '../core/flow/loop.ts';
import type { WorkerId } from '../core/ids.ts';
import type { Logger } from '../core/logger.ts';
import { doubleArray, textArray } from '../db/arrays.ts';
import type { Pool } from '../db/pool.ts';

interface Activity {
  seenAt: number;
  lastWorkAt: number | null;
  unhealthyReason: string | null;
  writtenAt: number;
  /** More than the time of contact changed: write it at the next tick. */
  isUrgent: boolean;
}

const TICK_MS = 500;
/** While no worker calls. */
const IDLE_TICK_MS = 60_000;
/** Contact alone is written this often, or four times per lease if that is more often, so that no live worker seems silent. */
const CONTACT_WRITE_MS = 5_000;
const FORGET_AFTER_MS = 300_000;

/** When workers last called and worked: recorded in memory with every call, written in batches. */
export class WorkerActivity {
  readonly #pool: Pool;
  readonly #monotonic: Clock;
  readonly #contactWriteMs: number;
  readonly #activities = new Map<WorkerId, Activity>();
  readonly #loop: Loop;

  constructor(options: { pool: Pool; monotonic: Clock; logger: Logger; leaseMs: number }) {
    this.#pool = options.pool;
    this.#contactWriteMs = Math.min(CONTACT_WRITE_MS, options.leaseMs / 4);
    this.#monotonic = options.monotonic;
    this.#loop = new Loop({
      name: 'worker-activity',
      tickMs: IDLE_TICK_MS,
      logger: options.logger,
      runOnce: () => this.#write(),
    });
  }

  start(): void {
    this.#loop.start();
  }

  async stop(): Promise<void> {
    await this.#loop.stop();
    await this.#write().catch(() => {});
  }

  recordContact(workerId: WorkerId): void {
    this.#get(workerId).seenAt = this.#monotonic.now();
  }

  /** `now`: in ms of the monotonic clock. */
  recordWork(workerId: WorkerId, now = this.#monotonic.now()): void {
    const activity = this.#get(workerId);
    activity.seenAt = now;
    activity.lastWorkAt = activity.seenAt;
    activity.isUrgent = true;
  }

  recordUnhealthy(workerId: WorkerId, reason: string): void {
    const activity = this.#get(workerId);
    activity.seenAt = this.#monotonic.now();
    activity.unhealthyReason = reason.replaceAll('\0', '\ufffd'); // one text that cannot be stored would fail the batch
    activity.isUrgent = true;
    this.#loop.wake();
  }

  /** Writes everything due now, for tests. */
  async flush(): Promise<void> {
    await this.#write();
  }

  #get(workerId: WorkerId): Activity {
    let activity = this.#activities.get(workerId);
    if (!activity) {
      if (this.#activities.size === 0) this.#loop.wake(); // from now on at its tick
      activity = {
        seenAt: this.#monotonic.now(),
        lastWorkAt: null,
        unhealthyReason: null,
        writtenAt: Number.NEGATIVE_INFINITY,
        isUrgent: true,
      };
      this.#activities.set(workerId, activity);
    }
    return activity;
  }

  async #write(): Promise<NextRun | undefined> {
    const now = this.#monotonic.now();
    const due: [WorkerId, Activity][] = [];
    for (const [workerId, activity] of this.#activities) {
      if (now - activity.seenAt > FORGET_AFTER_MS) this.#activities.delete(workerId);
      else if (
        activity.isUrgent ||
        (activity.seenAt > activity.writtenAt && now - activity.writtenAt > this.#contactWriteMs)
      ) {
        due.push([workerId, activity]);
      }
    }
    if (due.length > 0) await this.#writeDue(due, now);
    return this.#activities.size > 0 ? { inMs: TICK_MS } : undefined;
  }

  async #writeDue(due: readonly [WorkerId, Activity][], now: number): Promise<void> {
    for (const [, activity] of due) activity.isUrgent = false;
    try {
      await this.#upsert(due);
    } catch (error) {
      for (const [, activity] of due) activity.isUrgent = true;
      throw error;
    }
    for (const [, activity] of due) activity.writtenAt = now;
  }

  /** Sends ages, which mean the same whatever the clock of this machine says. */
  async #upsert(due: readonly [WorkerId, Activity][]): Promise<void> {
    const now = this.#monotonic.now();
    const ages = (of: (activity: Activity) => number | null) =>
      doubleArray(due.map(([, activity]) => ageOf(of(activity), now)));
    await this.#pool.query({
      name: 'worker-activity',
      text: `insert into worker_activity as a (worker_id, seen_at, last_work_at, unhealthy_reason)
             select id, now() - seen * interval '1 millisecond', now() - work * interval '1 millisecond', unhealthy
             from unnest($1::text[], $2::float8[], $3::float8[], $4::text[]) as n(id, seen, work, unhealthy)
             on conflict (worker_id) do update set seen_at = greatest(a.seen_at, excluded.seen_at),
               last_work_at = greatest(a.last_work_at, excluded.last_work_at),
               unhealthy_reason = coalesce(excluded.unhealthy_reason, a.unhealthy_reason)`,
      values: [
        textArray(due.map(([id]) => id)),
        ages((activity) => activity.seenAt),
        ages((activity) => activity.lastWorkAt),
        textArray(due.map(([, activity]) => activity.unhealthyReason)),
      ],
    });
  }
}

function ageOf(at: number | null, now: number): number | null {
  return at === null ? null : Math.max(0, now - at);
}
