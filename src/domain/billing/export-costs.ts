import type { Db } from '../../db/pool.ts';
import type { BucketRange } from './buckets.ts';
import type { CostScope } from './cost-scope.ts';
import { dayOf } from './read-costs.ts';
import type { UsageKind } from './usage.ts';

/** One resource's use and cost on one UTC day. */
interface ExportRow {
  day: string;
  userId: string;
  userName: string | null;
  kind: UsageKind;
  resourceId: string;
  resourceName: string | null;
  /** Decimal text. */
  numbers: string[];
}

export interface CostExport {
  scope: CostScope;
  /** Null: all. */
  kind: UsageKind | null;
  range: Pick<BucketRange, 'startMs' | 'endMs'>;
}

/** Programs read these: add further columns at the end only. Units are part of the names. */
export const EXPORT_COLUMNS = [
  'day_utc',
  'user_id',
  'user_name',
  'kind',
  'resource_id',
  'resource_name',
  'gpu_seconds',
  'vcpu_seconds',
  'storage_gb_seconds',
  'gpu_usd',
  'cpu_usd',
  'storage_usd',
  'total_usd',
] as const;

/** Read at a time: 1,000,000 rows are exported in the memory of so many. */
const BATCH = 2_000;
const END = '\r\n';

/**
 * Yields a table of days and resources as CSV (RFC 4180), by user and day. Each batch continues after the last row of the one
 * before, along the primary key, so a slow reader holds neither a transaction nor memory.
 */
export async function* exportCosts(db: Db, query: CostExport): AsyncGenerator<string> {
  yield EXPORT_COLUMNS.join(',') + END;
  let rows = await readBatch(db, query, null);
  while (rows.length > 0) {
    yield rows.map(toLine).join('');
    rows = rows.length < BATCH ? [] : await readBatch(db, query, rows.at(-1)!);
  }
}

async function readBatch(
  db: Db,
  { scope, kind, range }: CostExport,
  after: Pick<ExportRow, 'userId' | 'day' | 'kind' | 'resourceId'> | null,
): Promise<ExportRow[]> {
  const key = after && [after.userId, after.day, after.kind, after.resourceId];
  // The index is read from here on. From the first day of the range, each batch would read those before it again.
  const firstDay = scope !== null && after ? after.day : dayOf(range.startMs);
  const { rows } = await db.query<ExportRow>(
    // Limited before the join: joined first, each batch sorts all rows that are left.
    `select d.day::text as day, d.user_id as "userId", u.name as "userName", d.kind, d.resource_id as "resourceId",
            d.name as "resourceName",
            array[trim_scale(gpu_seconds)::text, trim_scale(vcpu_seconds)::text, trim_scale(gb_seconds)::text,
                  trim_scale(gpu_amount)::text, trim_scale(cpu_amount)::text, trim_scale(storage_amount)::text,
                  trim_scale(gpu_amount + cpu_amount + storage_amount)::text] as numbers
     from (
       select * from usage_days
       where ${scope === null ? '$1::text is null' : 'user_id = $1'} and day >= $2 and day < $3
         and ($4::text is null or kind = $4)
         ${key === null ? '' : 'and (user_id, day, kind, resource_id) > ($5, $6::date, $7, $8)'}
       order by user_id, day, kind, resource_id limit ${BATCH}
     ) d left join users u on u.id = d.user_id
     order by d.user_id, d.day, d.kind, d.resource_id`,
    [scope, firstDay, dayOf(range.endMs), kind, ...(key ?? [])],
  );
  return rows;
}

function toLine({ day, userId, userName, kind, resourceId, resourceName, numbers }: ExportRow): string {
  const texts = [userId, userName ?? '', kind, resourceId, resourceName ?? ''].map(csvText);
  return [day, ...texts, ...numbers].join(',') + END;
}

/** Characters that spreadsheets take for the beginning of a formula (OWASP, "CSV Injection"). */
const FORMULA = /^[=+\-@\t\r\n]/;
const QUOTED = /[",\r\n]/;

/** Returns a text as a CSV field. One that a spreadsheet would calculate gets an apostrophe in front, and is then plain text. */
function csvText(text: string): string {
  const safe = FORMULA.test(text) ? `'${text}` : text;
  return QUOTED.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
