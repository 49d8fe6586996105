import { BoundedMap } from '../../core/bounded-map.ts';
import type { Pool } from '../../db/pool.ts';
import type { BatchId, BatchStatus } from './batch.ts';

/** Above any number. */
const MAX_REQUESTS_EVER = Number.MAX_SAFE_INTEGER;

/**
 * The results of a batch as JSON lines, in the order of the requests' numbers. The text of a line is made by the database, so that its
 * length is known without reading the output: a line begins at the same byte whenever it is read after the end.
 */

/**
 * Everything but output and error, which may be large. `r`: the request, `o`: its result or null. `state` and `iso`: SQL for the
 * state, and for a time as text.
 */
const head = (state: string, iso: (time: string) => string) => `
  '{"id":"' || r.batch_id || '-' || r.number || '","number":' || r.number || ',"status":"' || ${state} || '"'
  || case when o.started_at is not null then
       ',"delayTime":' || ${ms('o.started_at - o.created_at')} || ',"executionTime":' || ${ms('o.finished_at - o.started_at')}
       || ',"startedAt":"' || ${iso('o.started_at')} || '"' else '' end
  || case when o.finished_at is not null then ',"completedAt":"' || ${iso('o.finished_at')} || '"' else '' end
  || coalesce(',"workerId":"' || o.worker_id || '"', '')
  || case when o.attempt > 1 then ',"retries":' || o.attempt - 1 else '' end`;
/** Line breaks between the tokens of an output would end the line; in a string they are escaped. */
const OUTPUT = `coalesce(',"output":' || translate(o.output, E'\\n\\r', '  '), '')`;
const ERROR = `coalesce(',"error":' || to_json(o.error)::text, '')`;
const END = String.raw`E'}\n'`;

function ms(interval: string): string {
  return `greatest(round(date_part('epoch', ${interval}) * 1000), 0)::int8`;
}

function isoTime(time: string): string {
  return `to_char(${time} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
}

/** As long as any time, and cheaper. */
const anyTime = () => `'${new Date(0).toISOString()}'`;

/** The bytes of a line; an output's length is known from where it is stored. */
const bytesOf = (state: string) => `
  octet_length(${head(state, anyTime)}) + coalesce(octet_length(o.output) + ${',"output":'.length}, 0)
  + octet_length(${ERROR}) + 2`;

export interface LineSize {
  number: number;
  bytes: number;
}

/** The lines to read. */
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

interface Statement {
  name: string;
  from: string;
  line: string;
  bytes: string;
}

/**
 * $1: the batch, $2: the state of a request without a result, $3: the last request before, $4: the last one. The range is given
 * for both tables: a join along their keys would otherwise begin at the first result.
 */
function statementFor({ onlyEnded }: LineQuery): Statement {
  const state = onlyEnded ? 'coalesce(o.status, $2)' : 'coalesce(o.status, j.status, $2)';
  const jobs = "left join jobs j on j.id = any(array[r.batch_id || '-' || r.number]) and o.batch_id is null";
  return {
    name: onlyEnded ? 'ended' : 'all',
    from: `
      from batch_requests r
      left join batch_results o on o.batch_id = $1 and o.number = r.number and o.number > $3 and o.number <= $4
      ${onlyEnded ? '' : jobs}
      where r.batch_id = $1 and r.number > $3 and r.number <= $4
        and ${onlyEnded ? "(o.batch_id is not null or $2 = 'CANCELLED')" : '$2::text is not null'}`,
    line: `${head(state, isoTime)} || ${OUTPUT} || ${ERROR} || ${END}`,
    bytes: `(${bytesOf(state)})`,
  };
}

/** Returns the sizes of the next `limit` lines after the request `after`. */
export async function sizeLines(pool: Pool, of: LineQuery, after: number, limit: number): Promise<LineSize[]> {
  const { name, from, bytes } = statementFor(of);
  const { rows } = await pool.query<LineSize>({
    name: `batch-line-sizes-${name}`,
    text: `select r.number, ${bytes}::int8 as bytes ${from} order by r.number limit $5`,
    values: [of.id, restState(of), after, MAX_REQUESTS_EVER, limit],
  });
  return rows;
}

/** Returns the lines of the requests from `first` to `last`, joined. */
export async function readLines(pool: Pool, of: LineQuery, first: number, last: number): Promise<string> {
  const { name, from, line } = statementFor(of);
  const { rows } = await pool.query<{ line: string }>({
    name: `batch-lines-${name}`,
    text: `select ${line} as line ${from} order by r.number`,
    values: [of.id, restState(of), first - 1, last],
  });
  return rows.map((row) => row.line).join('');
}

/** Lines between two places that are remembered. */
const LINES_A_MARK = 1_000;

/** Where in the results of an ended batch some lines begin, and how long they are. */
export interface Marks {
  totalBytes: number;
  /** `after`: the number of the request before the line; `at`: the byte at which the line begins. */
  places: readonly { after: number; at: number }[];
}

/** Adds up the lengths of an ended batch's lines: seconds for a million. */
export async function readMarks(pool: Pool, of: LineQuery): Promise<Marks> {
  const { from, bytes: size } = statementFor(of);
  const { rows } = await pool.query<{ last: number; bytes: number }>(
    `select max(number) as last, sum(bytes)::int8 as bytes
     from (select r.number, ${size} as bytes, row_number() over (order by r.number) - 1 as n ${from}) l
     group by n / ${LINES_A_MARK} order by 1`,
    [of.id, restState(of), 0, MAX_REQUESTS_EVER],
  );
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
