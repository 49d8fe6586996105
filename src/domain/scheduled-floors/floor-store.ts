import type { EndpointId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';
import { type FloorSchedule, NO_SCHEDULE } from './scheduled-floors.ts';

/** The schedule in `endpoint_schedules s`, or null for a row that a left join did not find. */
export const SCHEDULE_COLUMN = `case when s.endpoint_id is not null
  then json_build_object('timeZone', s.time_zone, 'floors', s.floors) end`;

/** Returns the endpoint's schedule, without floors if it has none. The caller checks ownership. */
export async function readFloorSchedule(db: Db, endpointId: EndpointId): Promise<FloorSchedule> {
  const result = await db.query<{ schedule: FloorSchedule }>(
    `select ${SCHEDULE_COLUMN} as schedule from endpoint_schedules s where endpoint_id = $1`,
    [endpointId],
  );
  return result.rows[0]?.schedule ?? NO_SCHEDULE;
}

export async function upsertFloorSchedule(
  db: Db,
  endpointId: EndpointId,
  { timeZone, floors }: FloorSchedule,
): Promise<void> {
  await db.query(
    `insert into endpoint_schedules (endpoint_id, time_zone, floors) values ($1, $2, $3)
     on conflict (endpoint_id) do update set time_zone = $2, floors = $3, updated_at = now()`,
    [endpointId, timeZone, JSON.stringify(floors)],
  );
}

export async function deleteFloorScheduleRow(db: Db, endpointId: EndpointId): Promise<void> {
  await db.query('delete from endpoint_schedules where endpoint_id = $1', [endpointId]);
}
