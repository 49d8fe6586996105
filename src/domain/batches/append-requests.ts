import { Failure, notFound } from '../../core/errors.ts';
import { bigintArray, rowsOfArrays, sparseArray, textArray } from '../../db/arrays.ts';
import type { Db } from '../../db/pool.ts';
import { INPUT, inputArrays, inputOf } from '../jobs/payloads.ts';
import {
  type BatchId,
  type BatchStatus,
  MAX_BATCH_BYTES,
  MAX_REJECTIONS,
  MAX_REQUESTS,
  type Rejection,
} from './batch.ts';

/** A valid request of a portion. */
export interface NewRequest {
  /** Its place in the portion, from 0. */
  at: number;
  input: string | Buffer;
  extras: string | null;
  webhook: string | null;
  executionTimeoutMs: number | null;
  /** Null: none of its own. */
  ttlMs: number | null;
  bytes: number;
}

/** Some lines of an upload, in order. `lines`: how many, with blank and rejected ones. */
export interface Portion {
  lines: number;
  requests: readonly NewRequest[];
  /** `line` is the place in the portion, from 0. */
  rejections: readonly Rejection[];
}

/** Where an upload stands. */
export interface Uploaded {
  /** Lines that the batch has received so far. */
  received: number;
  accepted: number;
}

/** The columns of a request, in the order of their arrays. */
const REQUEST = {
  at: 'int8',
  input: 'text',
  extras: 'text',
  webhook: 'text',
  execution_timeout_ms: 'int8',
  ttl_ms: 'int8',
};

/**
 * Adds a portion to a DRAFT in one commit: the requests, their numbers and the counts. Numbers are those of the lines that
 * the batch has received. `expected`: the lines it must have received before; null: any. Throws `badRequest` and adds nothing
 * if the batch is not a draft, has received another number of lines, or would become too large.
 */
export async function appendRequests(
  db: Db,
  id: BatchId,
  portion: Portion,
  expected: number | null,
): Promise<Uploaded> {
  const { requests, rejections } = portion;
  const { rows } = await db.query<Uploaded>({
    name: 'batch-append',
    text: `
      with grown as (
        update batches set received = received + $2, accepted = accepted + $3, bytes = bytes + $4,
          rejected = rejected + $5, changed_at = now(),
          rejections = case when $5 = 0 or jsonb_array_length(rejections) >= ${MAX_REJECTIONS} then rejections
            else jsonb_path_query_array(rejections || (
              select jsonb_agg(jsonb_build_object('line', received + (r ->> 'line')::int8 + 1, 'reason', r ->> 'reason'))
              from jsonb_array_elements($6::jsonb) r), '$[0 to ${MAX_REJECTIONS - 1}]') end
        where id = $1 and status = 'DRAFT' and ($7::int8 is null or received = $7)
          and accepted + $3 <= ${MAX_REQUESTS} and bytes + $4 <= ${MAX_BATCH_BYTES}
        returning received, accepted
      ), added as (
        insert into batch_requests (batch_id, number, ${INPUT}, webhook, execution_timeout_ms, ttl_ms)
        select $1, g.received - $2 + r.at + 1, ${inputOf('r')}, r.webhook, r.execution_timeout_ms, r.ttl_ms
        from grown g, ${rowsOfArrays(REQUEST, 8)} r
      )
      select received, accepted from grown`,
    values: [
      id,
      portion.lines,
      requests.length,
      requests.reduce((sum, { bytes }) => sum + bytes, 0),
      rejections.length,
      JSON.stringify(rejections.slice(0, MAX_REJECTIONS)),
      expected,
      bigintArray(requests.map(({ at }) => at)),
      ...inputArrays(requests),
      sparseArray(textArray, requests, ({ webhook }) => webhook),
      sparseArray(bigintArray, requests, ({ executionTimeoutMs }) => executionTimeoutMs),
      sparseArray(bigintArray, requests, ({ ttlMs }) => ttlMs),
    ],
  });
  return rows[0] ?? refuse(db, id, portion, expected);
}

async function refuse(db: Db, id: BatchId, portion: Portion, expected: number | null): Promise<never> {
  const { rows } = await db.query<{ status: BatchStatus; received: number; accepted: number; bytes: number }>(
    'select status, received, accepted, bytes from batches where id = $1',
    [id],
  );
  const batch = rows[0];
  if (!batch) throw notFound('batch');
  if (batch.status !== 'DRAFT') throw notDraft(batch.status);
  if (expected !== null && batch.received !== expected) {
    throw new Failure(
      'conflict',
      `another upload added to the batch meanwhile: it has received ${batch.received} lines, not ${expected}`,
    );
  }
  const more = portion.requests.length;
  if (batch.accepted + more > MAX_REQUESTS) {
    throw new Failure(
      'badRequest',
      `a batch has at most ${MAX_REQUESTS} requests; this one has ${batch.accepted}, and at least ${more} more came. What was taken before stays`,
    );
  }
  throw new Failure(
    'badRequest',
    `the requests of a batch have at most ${MAX_BATCH_BYTES} bytes; this one has ${batch.bytes}. What was taken before stays`,
  );
}

export function notDraft(status: BatchStatus): Failure {
  return new Failure('badRequest', `the batch is ${status}; only a DRAFT can be changed`);
}
