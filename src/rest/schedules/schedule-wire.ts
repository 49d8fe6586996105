import type { Static } from 'typebox';
import type { Schedule } from '../../domain/schedules/schedule.ts';
import { scheduledFloor } from '../../domain/schedules/scheduled-floor.ts';
import type { ScheduleResponse } from './schedule-schemas.ts';

export function toScheduleResponse(schedule: Schedule, now: number): Static<typeof ScheduleResponse> {
  const { workersMin, until } = scheduledFloor(schedule, now);
  return { ...schedule, current: { workersMin, until: until === null ? null : new Date(until).toISOString() } };
}
