import type { Schemas } from '../../../api/client.ts';
import type { Change } from '../../../ui/forms/changes.ts';
import type { SummaryText } from '../../../ui/forms/summary.tsx';
import { formatCount, formatDate } from '../../../ui/text/format.ts';
import { enumLabel } from '../../../ui/text/labels.ts';

type Schedule = Schemas['Schedule'];
export type ScheduleValues = Schemas['ReplaceScheduleRequest'];
export type Floor = ScheduleValues['floors'][number];

export const DAYS: Floor['days'] = ['MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT', 'SUN'];

/** Says which floor holds now, and what the values change of the schedule. */
export function scheduleSummary(values: ScheduleValues, schedule: Schedule): SummaryText {
  const { workersMin, until } = schedule.current;
  const now = workersMin === 0 ? 'no floor' : formatCount(workersMin, 'worker');
  return {
    facts:
      schedule.floors.length === 0
        ? [{ label: 'Now', value: 'no schedule: workers.min holds all day' }]
        : [{ label: 'Now', value: `${now}${until === null ? '' : `, until ${formatDate(until)}`}` }],
    changes: changesTo(values, schedule),
    effect: 'Takes effect at once. Makes no new version.',
  };
}

function changesTo(values: ScheduleValues, { timeZone, floors }: Schedule): Change[] {
  const count = Math.max(floors.length, values.floors.length);
  const changes = Array.from({ length: count }, (_, index) => ({
    label: `Floor ${index + 1}`,
    before: floorText(floors[index]),
    after: floorText(values.floors[index]),
  }));
  // Without floors the stored zone means nothing.
  const zones = floors.length === 0 ? [] : [{ label: 'Time zone', before: timeZone, after: values.timeZone }];
  return [...zones, ...changes].filter(({ before, after }) => before !== after);
}

/** `Mon to Fri, 08:00–18:00: 1 worker`. */
export function floorText(floor: Floor | undefined): string {
  if (floor === undefined) return 'none';
  return `${daysText(floor.days)}, ${floor.from}–${floor.until}: ${formatCount(floor.workersMin, 'worker')}`;
}

function daysText(days: Floor['days']): string {
  if (days.length === 0) return 'no day';
  const [first, last] = [DAYS.indexOf(days[0]!), DAYS.indexOf(days.at(-1)!)];
  const isRow = days.length > 2 && last - first === days.length - 1;
  return isRow ? `${enumLabel(days[0]!)} to ${enumLabel(days.at(-1)!)}` : days.map(enumLabel).join(', ');
}
