import { Failure } from '../../core/errors.ts';
import type { FloorSchedule } from './scheduled-floors.ts';
import { isTimeZone } from './time-zone.ts';

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
