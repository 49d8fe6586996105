import { BoundedMap } from '../../core/bounded-map.ts';
import type { Pool } from '../../db/pool.ts';
import type { BatchId, BatchStatus } from './batch.ts';

/**
 * The results of a batch as JSON lines, in the order of the requests' numbers. The text of a line is made by the database, so
 * that its length can be told without reading the output: a line begins at the same byte whenever it is read after the end.
 */

/** Everything but output and error, which may be large. `r`: the request, `o`: its result or null, `j`: its job or null. */
const HEAD = (state: string) => `
  '{"id":"' || r.batch_id || '-' || r.number || '","number":' || r.number || ',"status":"' || ${state} || '"'
  || case when o.started_at is not null then
       ',"delayTime":' || greatest(round(extract(epoch from o.started_at - o.created_at) * 1000), 0)
       || ',"executionTime":' || greatest(round(extract(epoch from o.finished_at - o.started_at) * 1000), 0)
       || ',"startedAt":"' || ${ISO('o.started_at')} || '"' else '' end
  || coalesce(',"completedAt":"' || ${ISO('o.finished_at')} || '"', '')
  || coalesce(',"workerId":"' || o.worker_id || '"', '')
  || case when o.attempt > 1 then ',"retries":' || o.attempt - 1 else '' end`;
/** Line breaks between the tokens of an output would end the line; in a string they are escaped. */
const OUTPUT = `coalesce(',"output":' || translate(o.output, E'\\n\\r', '  '), '')`;
const ERROR = `coalesce(',"error":' || to_json(o.error)::text, '')`;
const END = String.raw`E'}\n'`;

function ISO(time: string): string {
  return `to_char(${time} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
}

/** The state of a request without a result: `$2`, or that of its job. */
const STATE = 'coalesce(o.status, j.status, $2)';
const LINE = `${HEAD(STATE)} || ${OUTPUT} || ${ERROR} || ${END}`;
/** The bytes of LINE; an output's length is known from where it is stored. */
const BYTES = `octet_length(${HEAD(STATE)}) + coalesce(octet_length(o.output) + ${',"output":'.length}, 0)
  + octet_length(${ERROR}) + 2`;

const FROM = `
  from batch_requests r
  left join batch_results o on o.batch_id = r.batch_id and o.number = r.number
  left join jobs j on j.id = any(array[r.batch_id || '-' || r.number]) and o.batch_id is null`;

export interface LineSize {
  number: number;
  bytes: number;
}

/** What to read. */
export interface LineQuery {
  id: BatchId;
  status: BatchStatus;
  /** Leave out requests that have not ended. */
  onlyEnded: boolean;
}

/** How the lines of requests without a result and without a job read. */
function restState({ status }: LineQuery): string {
  return status === 'CANCELLED' ? 'CANCELLED' : 'IN_QUEUE';
}

const CHOSEN = `where r.batch_id = $1 and ($3::boolean is false or o.batch_id is not null or $2 = 'CANCELLED')`;

/** Returns the sizes of the next `limit` lines after the request `after`. */
export async function sizeLines(pool: Pool, of: LineQuery, after: number, limit: number): Promise<LineSize[]> {
  const { rows } = await pool.query<LineSize>({
    name: 'batch-line-sizes',
    text: `select r.number, (${BYTES})::int8 as bytes ${FROM} ${CHOSEN} and r.number > $4 order by r.number limit $5`,
    values: [of.id, restState(of), of.onlyEnded, after, limit],
  });
  return rows;
}

/** Returns the lines of the requests from `first` to `last`, joined. */
export async function readLines(pool: Pool, of: LineQuery, first: number, last: number): Promise<string> {
  const { rows } = await pool.query<{ line: string }>({
    name: 'batch-lines',
    text: `select ${LINE} as line ${FROM} ${CHOSEN} and r.number between $4 and $5 order by r.number`,
    values: [of.id, restState(of), of.onlyEnded, first, last],
  });
  return rows.map(({ line }) => line).join('');
}

/** Lines between two places that are remembered. */
const LINES_A_MARK = 1_000;

/** Where in the results of an ended batch some lines begin, and how long they are. */
export interface Marks {
  totalBytes: number;
  /** `after`: the number of the request before the line; `at`: the byte at which the line begins. */
  places: readonly { after: number; at: number }[];
}

/** Adds up the lengths of an ended batch's lines: about a second for a million. */
export async function readMarks(pool: Pool, of: LineQuery): Promise<Marks> {
  const { rows } = await pool.query<{ last: number; bytes: number }>({
    name: 'batch-marks',
    text: `select max(number) as last, sum(bytes)::int8 as bytes
           from (select r.number, (${BYTES}) as bytes, row_number() over (order by r.number) - 1 as n ${FROM} ${CHOSEN}) l
           group by n / ${LINES_A_MARK} order by 1`,
    values: [of.id, restState(of), of.onlyEnded],
  });
  const places = [{ after: 0, at: 0 }];
  let totalBytes = 0;
  for (const { last, bytes } of rows) {
    totalBytes += bytes;
    places.push({ after: last, at: totalBytes });
  }
  return { totalBytes, places };
}

/** Remembers the marks of ended batches: their results never change. */
export class ResultMarks {
  readonly #known = new BoundedMap<BatchId, Promise<Marks>>(100);

  find(pool: Pool, of: LineQuery): Promise<Marks> {
    const known = this.#known.get(of.id);
    if (known) return known;
    const reading = readMarks(pool, of);
    this.#known.set(of.id, reading);
    reading.catch(() => this.#known.delete(of.id));
    return reading;
  }
}

/** Returns the last place at or before a byte. */
export function placeBefore({ places }: Marks, byte: number): { after: number; at: number } {
  return places.findLast(({ at }) => at <= byte)!;
}
