import { UsageError } from '../../core/usage-error.ts';
import { type ScheduledFloor, WEEKDAYS } from '../../domain/schedules/schedule.ts';
import type { ApiClient } from '../shared/api-client.ts';
import type { CliOutput } from '../shared/cli-pieces.ts';
import { showRecords, type Wire } from '../shared/records.ts';
import type { Column } from '../terminal/table.ts';
import { jsonText } from '../terminal/terminal-text.ts';

export interface ScheduleOptions {
  timeZone?: string;
  floor?: string[];
  clear?: boolean;
  json?: boolean;
}

const COLUMNS: readonly Column<Wire>[] = [
  ['DAYS', (r) => r.days.join(' ')],
  ['FROM', (r) => r.from],
  ['UNTIL', (r) => r.until],
  ['WORKERS', (r) => r.workersMin],
];
const FLOOR = /^(\S+) (\d\d:\d\d)-(\d\d:\d\d) (\d{1,9})$/;
/** A week as people count it. */
const WEEK = [...WEEKDAYS.slice(1), WEEKDAYS[0]];

/** Shows the schedule of an endpoint, after setting or clearing it if that is asked for. */
export async function editSchedule(
  client: ApiClient,
  endpointId: string,
  { timeZone, floor, clear, json, name }: ScheduleOptions & { name: string },
  output: CliOutput,
): Promise<void> {
  const path = `/v2/serverless/${endpointId}/schedule`;
  if (clear) await client.call('DELETE', path);
  else if (floor !== undefined) {
    if (timeZone === undefined) throw new UsageError('--floor needs --time-zone, such as Europe/Berlin');
    await client.call('PUT', path, { timeZone, floors: floor.map(readFloor) });
  } else if (timeZone !== undefined) throw new UsageError('--time-zone needs --floor: the two are set together');
  const schedule = await client.call<Wire>('GET', path);
  if (json) return output.print(jsonText(schedule));
  const none = `${name} has no schedule. Set one: \`podyard endpoints schedule ${name} --time-zone Europe/Berlin --floor 'mon-fri 08:00-18:00 3'\`.`;
  showRecords(schedule.floors, { columns: COLUMNS, none }, false, output);
  const { workersMin, until } = schedule.current;
  if (schedule.floors.length === 0) return;
  output.note(`Times are of ${schedule.timeZone}. The floor is ${workersMin} now${until ? `, until ${until}` : ''}.`);
}

/** Reads `mon-fri 08:00-18:00 3`. Throws an error to print. */
export function readFloor(text: string): ScheduledFloor {
  const [, days, from, until, workersMin] = FLOOR.exec(text.trim()) ?? [];
  if (days === undefined) throw new UsageError(`--floor has '${text}', but takes e.g. 'mon-fri 08:00-18:00 3'`);
  return {
    days: days.toUpperCase().split(',').flatMap(readDays),
    from: from!,
    until: until!,
    workersMin: Number(workersMin),
  };
}

/** `DAILY`, a day, or a range of days, which may go over the weekend. */
function readDays(text: string): ScheduledFloor['days'] {
  if (text === 'DAILY') return [...WEEK];
  const [first, last = first] = text.split('-');
  const [start, end] = [WEEK.indexOf(first as never), WEEK.indexOf(last as never)];
  if (start < 0 || end < 0) {
    throw new UsageError(`'${text.toLowerCase()}' is not a day or a range of days, such as mon, mon-fri or daily`);
  }
  const length = ((end - start + WEEK.length) % WEEK.length) + 1;
  return Array.from({ length }, (_, i) => WEEK[(start + i) % WEEK.length]!);
}
