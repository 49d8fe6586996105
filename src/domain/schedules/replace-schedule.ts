import { Failure } from '../../core/errors.ts';
import type { EndpointId } from '../../core/ids.ts';
import { transaction } from '../../db/pool.ts';
import type { Actor } from '../access/actor.ts';
import type { Context } from '../context.ts';
import { getEndpointRow } from '../endpoints/endpoint-store.ts';
import { publishEndpoint } from '../endpoints/publish-endpoint.ts';
import type { Schedule } from './schedule.ts';
import { upsertSchedule } from './schedule-store.ts';
import { isTimeZone } from './time-zone.ts';

/** Replaces an endpoint's schedule, effective at once. Throws `notFound`, and `badRequest` if a rule is broken. */
export async function replaceSchedule(
  context: Context,
  actor: Actor,
  endpointId: EndpointId,
  schedule: Schedule,
): Promise<void> {
  await transaction(context.pool, async (db) => {
    await getEndpointRow(db, actor.userId, endpointId, 'for update');
    checkSchedule(schedule);
    await upsertSchedule(db, endpointId, schedule);
  });
  publishEndpoint(context, endpointId);
}

function checkSchedule({ timeZone, floors }: Schedule): void {
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
