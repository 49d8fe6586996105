import type { UserId } from '../../core/ids.ts';
import { RATE_WINDOWS, type RateQuotas, type RateWindow } from '../../core/rate-quotas.ts';
import { bigintArray, textArray } from '../../db/arrays.ts';
import type { Db } from '../../db/pool.ts';

/** A user's usage after a count. Times are the database's, in milliseconds. */
export interface RateCount {
  userId: UserId;
  /** How many of the requested requests may pass: the least that any window has left. */
  granted: number;
  nowMs: number;
  /** The window's number since 1970, its usage including this count, and the user's quota. */
  windows: Record<RateWindow, { number: number; used: number; quota: number }>;
}

const WINDOWS = Object.keys(RATE_WINDOWS) as RateWindow[];

/**
 * True while the stored window counts. Statements of two processes can cross at a boundary: the one that started before it
 * but comes second counts in the new window, because a return to the old one would lose the new one's count. Any other
 * difference is a new window, or a clock that was set.
 */
const isCurrent = (window: RateWindow) => `w.${window} - excluded.${window} between 0 and 1`;
const usedBefore = (window: RateWindow) => `case when ${isCurrent(window)} then w.${window}_used else 0 end`;
const GRANTED = `greatest(0, least(excluded.granted, ${WINDOWS.map(
  (window) => `excluded.${window}_quota - ${usedBefore(window)}`,
).join(', ')}))`;
const NOW = 'coalesce($6::timestamptz, now())';

/**
 * Rows are locked in id order, so that two processes with the same users cannot deadlock. The insert proposes what a new
 * row may grant; for an existing row that is the number requested.
 */
const COUNT = `
  insert into rate_windows as w (user_id, granted, ${WINDOWS.map((w) => `${w}, ${w}_used, ${w}_quota`).join(', ')})
  select a.user_id, g.granted, ${WINDOWS.map((w) => `t.seconds / ${RATE_WINDOWS[w]}, g.granted, q.${w}`).join(', ')}
  from unnest($1::text[], $2::int8[]) as a (user_id, asked)
  join users u on u.id = a.user_id and not u.is_rate_exempt
  cross join (select floor(extract(epoch from ${NOW}))::int8 as seconds) as t
  cross join lateral (
    select ${WINDOWS.map((w, i) => `coalesce(u.rate_limit_${w}, $${i + 3}::int8) as ${w}`).join(', ')}
  ) as q
  cross join lateral (select least(a.asked, q.minute, q.hour, q.day) as granted) as g
  order by a.user_id
  on conflict (user_id) do update set granted = ${GRANTED}, ${WINDOWS.map(
    (window) => `
    ${window} = case when ${isCurrent(window)} then w.${window} else excluded.${window} end,
    ${window}_used = ${usedBefore(window)} + ${GRANTED},
    ${window}_quota = excluded.${window}_quota`,
  ).join(',')}
  returning user_id as "userId", granted, (extract(epoch from ${NOW}) * 1000)::float8 as "nowMs",
    json_build_object(${WINDOWS.map(
      (w) => `'${w}', json_build_object('number', ${w}, 'used', ${w}_used, 'quota', ${w}_quota)`,
    ).join(', ')}) as windows`;

/**
 * Counts requests of users in one statement. Only requests that may pass are counted: a refused one uses no quota. Exact
 * under concurrency. Exempt users are missing from the result. `now` null: the database's time, which all processes
 * share.
 */
export async function countRequests(
  db: Db,
  asked: ReadonlyMap<UserId, number>,
  defaults: RateQuotas,
  now: Date | null,
): Promise<Map<UserId, RateCount>> {
  const result = await db.query<RateCount>({
    name: 'rate-count',
    text: COUNT,
    values: [
      textArray([...asked.keys()]),
      bigintArray([...asked.values()]),
      ...WINDOWS.map((window) => defaults[window]),
      now,
    ],
  });
  return new Map(result.rows.map((count) => [count.userId, count]));
}

/** Deletes the counts of users without requests since the day before yesterday. */
export async function deleteOldRateWindows(db: Db, now: Date): Promise<void> {
  await db.query('delete from rate_windows where day < floor(extract(epoch from $1::timestamptz) / 86400) - 1', [now]);
}
