import type { EndpointId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';
import { PERMISSIONS } from '../access/permissions.ts';
import type { Operation, Tx } from '../change.ts';
import { getEndpointRow } from '../endpoints/endpoint-store.ts';
import { publishEndpoint } from '../endpoints/publish-endpoint.ts';
import { checkFloorSchedule } from './check-floors.ts';
import { deleteFloorScheduleRow, upsertFloorSchedule } from './floor-store.ts';
import type { FloorSchedule } from './scheduled-floors.ts';

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
