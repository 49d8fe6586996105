import { Failure } from '../../core/errors.ts';
import type { EndpointId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';
import { PERMISSIONS } from '../access/permissions.ts';
import type { Operation, Tx } from '../change.ts';
import { getEndpointRow } from '../endpoints/endpoint-store.ts';
import { publishEndpoint } from '../endpoints/publish-endpoint.ts';
import { deleteFloorScheduleRow, upsertFloorSchedule } from './floor-store.ts';
import type { FloorSchedule } from './scheduled-floors.ts';
import { isTimeZone } from './time-zone.ts';

/** Replaces an endpoint's schedule, effective at once. Throws `notFound`, and `badRequest` if a rule is broken. */
export const replaceFloorSchedule: Operation<Tx, { id: EndpointId; schedule: FloorSchedule }, void> = {
  name: 'endpoint.replace-floors',
  permission: PERMISSIONS.writeEndpoint,
  async run({ db, actor, bus }, { id, schedule }) {
    await getEndpointRow(db, actor.userId, id, 'for update');
    await setFloorSchedule(db, id, schedule);
    publishEndpoint(bus, id);
  },
  subject: ({ id }) => id,
};

/** Deletes an endpoint's schedule, if it has one, effective at once. Throws `notFound`. */
export const deleteFloorSchedule: Operation<Tx, { id: EndpointId }, void> = {
  name: 'endpoint.delete-floors',
  permission: PERMISSIONS.writeEndpoint,
  async run({ db, actor, bus }, { id }) {
    await getEndpointRow(db, actor.userId, id, 'for update');
    await deleteFloorScheduleRow(db, id);
    publishEndpoint(bus, id);
  },
  subject: ({ id }) => id,
};

/** Stores a schedule as a part of another change, which locks the endpoint. Throws `badRequest` if a rule is broken. */
export async function setFloorSchedule(db: Db, id: EndpointId, schedule: FloorSchedule): Promise<void> {
  checkFloorSchedule(schedule);
  await upsertFloorSchedule(db, id, schedule);
}

/** Throws `badRequest` if a rule is broken. */
export function checkFloorSchedule({ timeZone, floors }: FloorSchedule): void {
  if (!isTimeZone(timeZone)) {
    throw new Failure('badRequest', `timeZone: '${timeZone}' is not an IANA time zone, such as Europe/Berlin or UTC`);
  }
  const empty = floors.findIndex(({ from, until }) => from === until);
  if (empty >= 0) {
    const { from } = floors[empty]!;
    const detail = `floors[${empty}]: 'from' and 'until' are both ${from}; for a whole day use 00:00 and 24:00`;
    throw new Failure('badRequest', detail);
  }
}
