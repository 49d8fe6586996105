/**
 * Where the payloads of jobs are: what a worker gets (`input`, and `extras`, the members beside it) and what it answers (`output` or
 * `error`, and `progress` while it runs). They are stored inline, as the text that was sent, in columns of `jobs`, `finished_jobs`,
 * `batch_requests` and `batch_results`. Statements that submit, take, end, retry, copy or read jobs get their payloads from here, so
 * that another store is another version of this file. Streamed chunks are in a table of their own (job-stream.ts).
 */
import { notFound } from '../../core/errors.ts';
import type { EndpointId, JobId } from '../../core/ids.ts';
import { sparseArray, textArray } from '../../db/arrays.ts';
import type { Db } from '../../db/pool.ts';

/** The columns that move an input from one table to another, in statements that insert and select. */
export const INPUT = 'input, extras';
/** The same columns of the row `row`, also as a worker gets them. */
export const inputOf = (row: string) => `${row}.input, ${row}.extras`;
/** The size of an input, which is read without it. `row`: the name of its row and a dot. */
export const inputBytes = (row = '') => `octet_length(${row}input) + coalesce(octet_length(${row}extras), 0)`;
/** Parameters with the types `text[]` for the columns of INPUT; null for `extras` that no job has. */
export function inputArrays(jobs: readonly { input: string | Buffer; extras: string | null }[]) {
  return [textArray(jobs.map(({ input }) => input)), sparseArray(textArray, jobs, ({ extras }) => extras)] as const;
}

/** Changes of `jobs` beside which an attempt ends without a result, and with which a progress update is stored. */
export const CLEAR_PROGRESS = 'progress = null';
export const saveProgress = (value: string) => `progress = ${value}`;

/** The columns of results, and those with which a CTE of ended jobs carries them (job-sql.ts). */
export const RESULT = 'output, error';
export const ENDED_RESULT = 'end_output, end_error';
/** The columns of a CTE of ended jobs: the state, and the result. */
export const endedWith = (status: string, { output = 'null::text', error = 'null::text' } = {}) =>
  `${status} as end_status, ${output} as end_output, ${error} as end_error`;

/** Larger results are not read with their jobs: many at once would fill the memory. */
export const LARGE_RESULT_BYTES = 64 * 1024;

/** The size is known without reading the values: large ones are stored apart, with their length. */
function smallResult(output: string, error: string): string {
  const bytes = `coalesce(octet_length(${output}), 0) + coalesce(octet_length(${error}), 0)`;
  const isSmall = `${bytes} <= ${LARGE_RESULT_BYTES}`;
  return `case when ${isSmall} then ${output} end as output, case when ${isSmall} then ${error} end as error,
         case when not ${isSmall} then ${bytes} end as "largeBytes"`;
}
/** The result columns of a JobView, of a job that has not ended and of one that has. */
export const LIVE_RESULT = smallResult('progress', 'null::text');
export const FINISHED_RESULT = smallResult('output', 'error');

/** The result of one job, however large; $1 job. */
export const READ_RESULT = `
  select progress as output, null as error from jobs where id = $1
  union all select ${RESULT} from finished_jobs where id = $1 and keep_until > now()`;

/** $1 job, $2 endpoint: the size of its input. */
export const MEASURE_INPUT = `
  select ${inputBytes()} as bytes from jobs where id = any(array[$1]) and endpoint_id || '' = $2
  union all
  select ${inputBytes()} from finished_jobs where id = $1 and endpoint_id || '' = $2 and keep_until > now()`;

const PAYLOADS = ['input', 'output', 'error'] as const;
export type PayloadName = (typeof PAYLOADS)[number];

const COLUMNS: Record<PayloadName, [live: string, finished: string]> = {
  input: ['input', 'input'],
  output: ['progress', 'output'],
  error: ['null::text', 'error'],
};

const withSize = (name: PayloadName, column: string) => `
  octet_length(${column}) as "${name}Bytes",
  case when octet_length(${column}) <= ${LARGE_RESULT_BYTES} then ${column} end as "${name}"`;
const detail = (state: 0 | 1) => `
  ${withSize('input', COLUMNS.input[state])}, ${withSize('output', COLUMNS.output[state])}, octet_length(${COLUMNS.error[state]}) as "errorBytes",
  left(${COLUMNS.error[state]}, ${LARGE_RESULT_BYTES}) as "longError"`;
/** The payloads of a JobDetail: their sizes, and those of at most 64 KiB. */
export const LIVE_DETAIL = detail(0);
export const FINISHED_DETAIL = detail(1);

/** `what`: SQL over a payload; $1 job, $2 endpoint. */
const ofPayload = (name: PayloadName, what: (column: string) => string) => `
  select ${what(COLUMNS[name][0])} as value from jobs where id = any(array[$1]) and endpoint_id || '' = $2
  union all
  select ${what(COLUMNS[name][1])} from finished_jobs where id = $1 and endpoint_id || '' = $2 and keep_until > now()`;

/** Returns the size of a payload in bytes. Throws `notFound` if there is no such job, or it has no such payload. */
export async function measurePayload(db: Db, endpointId: EndpointId, jobId: JobId, name: PayloadName): Promise<number> {
  const text = ofPayload(name, (column) => `octet_length(${column})`);
  const row = (await db.query<{ value: number | null }>(text, [jobId, endpointId])).rows[0];
  if (!row) throw notFound('job');
  if (row.value === null) throw notFound(name);
  return row.value;
}

/** Returns a payload, however large. Throws `notFound`. */
export async function readPayload(db: Db, endpointId: EndpointId, jobId: JobId, name: PayloadName): Promise<string> {
  const text = ofPayload(name, (column) => column);
  const value = (await db.query<{ value: string | null }>(text, [jobId, endpointId])).rows[0]?.value;
  if (value == null) throw notFound('job');
  return value;
}
