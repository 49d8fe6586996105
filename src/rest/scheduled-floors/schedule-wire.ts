import type { Static } from 'typebox';
import { scheduledFloor } from '../../domain/scheduled-floors/floor-now.ts';
import type { FloorSchedule } from '../../domain/scheduled-floors/scheduled-floors.ts';
import type { ScheduleResponse } from './schedule-schemas.ts';

export function toScheduleResponse(schedule: FloorSchedule, now: number): Static<typeof ScheduleResponse> {
  const { workersMin, until } = scheduledFloor(schedule, now);
  return { ...schedule, current: { workersMin, until: until === null ? null : new Date(until).toISOString() } };
}
