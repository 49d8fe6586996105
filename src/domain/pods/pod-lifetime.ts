import { Failure } from '../../core/errors.ts';
import type { PodId, UserId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';

/** When a pod is stopped and terminated without another request; null: never. */
export interface PodLifetime {
  stopAt: Date | null;
  terminateAt: Date | null;
}

const TIME = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/i;

/** Reads a time in ISO 8601 with its zone. Throws `badRequest`, also if it is over. */
export function readDeadline(text: string, field: string, nowMs: number): Date {
  const time = new Date(TIME.test(text) ? text : Number.NaN);
  if (Number.isNaN(time.getTime())) {
    throw new Failure('badRequest', `${field}: must be a time with its zone, such as 2030-01-31T12:00:00Z`);
  }
  if (time.getTime() > nowMs) return time;
  throw new Failure('badRequest', `${field}: ${time.toISOString()} is over; it is ${new Date(nowMs).toISOString()}`);
}

/** A pod whose time has come, which control decides about. */
export interface DuePod extends PodLifetime {
  id: PodId;
  userId: UserId;
  /** Its container is wanted and has not failed. */
  isUp: boolean;
  isLocked: boolean;
}

const DUE = `select id, user_id as "userId", is_locked as "isLocked", stop_at as "stopAt", terminate_at as "terminateAt",
  wanted = 'RUN' and not (phase = 'ERROR' and phase_revision = revision) as "isUp" from pods`;

/** Returns pods whose time has come, and when the next one's will. Served by `pods_stop_at` and `pods_terminate_at`. */
export async function listDuePods(db: Db, nowMs: number): Promise<{ due: DuePod[]; nextAt: Date | null }> {
  const result = await db.query<DuePod>({
    name: 'pods-due',
    text: `${DUE} where wanted <> 'TERMINATE' and stop_at <= $1
           union ${DUE} where wanted <> 'TERMINATE' and terminate_at <= $1`,
    values: [new Date(nowMs)],
  });
  const next = await db.query<{ nextAt: Date | null }>({
    name: 'pods-due-next',
    text: `select least(
             (select min(stop_at) from pods where wanted <> 'TERMINATE' and stop_at > $1),
             (select min(terminate_at) from pods where wanted <> 'TERMINATE' and terminate_at > $1)) as "nextAt"`,
    values: [new Date(nowMs)],
  });
  return { due: result.rows, nextAt: next.rows[0]!.nextAt };
}

/** `$2` has milliseconds, the column microseconds. */
const isAt = (column: string) => `date_trunc('milliseconds', ${column}) = $2`;

/** Requests that a pod whose time has come is stopped. False if it was changed meanwhile. */
export async function stopDuePod(db: Db, { id, stopAt }: DuePod, reason: string): Promise<boolean> {
  const result = await db.query(
    `update pods set wanted = 'STOP', wanted_reason = $3, stop_at = null, changed_at = now()
     where id = $1 and ${isAt('stop_at')} and wanted = 'RUN' and not is_locked`,
    [id, stopAt, reason],
  );
  return result.rowCount === 1;
}

/** Requests that a pod whose time has come is removed. False if it was changed meanwhile. */
export async function terminateDuePod(db: Db, { id, terminateAt }: DuePod, reason: string): Promise<boolean> {
  const result = await db.query(
    `with gone as (
       update pods set wanted = 'TERMINATE', wanted_reason = $3, changed_at = now()
       where id = $1 and ${isAt('terminate_at')} and wanted <> 'TERMINATE' returning template_id
     ), used as (
       update templates set last_used_at = now() where id = (select template_id from gone)
     )
     select from gone`,
    [id, terminateAt, reason],
  );
  return result.rowCount === 1;
}

/** Drops the time at which a pod was to be stopped that does not run. */
export async function forgetStop(db: Db, { id, stopAt }: DuePod): Promise<void> {
  await db.query(`update pods set stop_at = null where id = $1 and ${isAt('stop_at')}`, [id, stopAt]);
}
