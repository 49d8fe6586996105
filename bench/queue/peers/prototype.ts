/**
 * The lower bound: what a durable queue over HTTP costs with node:http and batched statements. No users, endpoints, counters,
 * timeouts, retries or webhooks.
 */
import { randomUUID } from 'node:crypto';
import { Batcher } from '../../../src/core/flow/batcher.ts';
import { textArray } from '../../../src/db/arrays.ts';
import { createPool, type Pool } from '../../../src/db/pool.ts';
import type { FrontJob, FrontQueue } from './front.ts';
import { servePeer } from './serve-peer.ts';

const BATCH = { lanes: 2, maxSize: 256, isCallFault: () => false };

const SCHEMA = `
  create table if not exists proto_jobs (
    id text primary key, seq bigint generated always as identity (cache 32), input text not null, worker_id text);
  create index if not exists proto_queue on proto_jobs (seq) where worker_id is null;
  create table if not exists proto_finished (id text primary key, input text not null, worker_id text, output text)`;

const SUBMIT = `
  insert into proto_jobs (id, input, worker_id) select * from unnest($1::text[], $2::text[], $3::text[])`;

const TAKE = `
  with picked as (
    select id, row_number() over () as n from (
      select id from proto_jobs where worker_id is null order by seq
      limit coalesce(array_length($1::text[], 1), 0) for update skip locked) head)
  update proto_jobs j set worker_id = ($1::text[])[p.n] from picked p where j.id = p.id
  returning j.id, j.input, p.n`;

const FINISH = `
  with ended as (
    delete from proto_jobs j using unnest($1::text[], $2::text[], $3::text[]) as r(id, worker_id, output)
    where j.id = r.id and j.worker_id = r.worker_id returning j.id, j.input, j.worker_id, r.output)
  insert into proto_finished (id, input, worker_id, output) select * from ended returning id`;

await servePeer(async ({ store }) => {
  const pool = createPool({ databaseUrl: store, applicationName: 'prototype', maxConnections: 6 });
  await pool.query(SCHEMA);
  return prototypeQueue(pool);
});

function prototypeQueue(pool: Pool): FrontQueue {
  const submits = new Batcher<{ id: string; input: string; workerId: string | null }, void>({
    ...BATCH,
    flush: async (jobs) => {
      const values = [
        textArray(jobs.map((job) => job.id)),
        textArray(jobs.map((job) => job.input)),
        textArray(jobs.map((job) => job.workerId)),
      ];
      await pool.query({ name: 'submit', text: SUBMIT, values });
      return jobs.map(() => undefined);
    },
  });
  const takes = new Batcher<string, FrontJob | null>({
    ...BATCH,
    flush: async (workers) => {
      const found = await pool.query<FrontJob & { n: number }>({
        name: 'take',
        text: TAKE,
        values: [textArray(workers)],
      });
      const jobs = new Map(found.rows.map((row) => [row.n, row]));
      return workers.map((_, i) => jobs.get(i + 1) ?? null);
    },
  });
  const finishes = new Batcher<{ jobId: string; workerId: string; output: string }, boolean>({
    ...BATCH,
    flush: async (results) => {
      const values = [
        textArray(results.map((result) => result.jobId)),
        textArray(results.map((result) => result.workerId)),
        textArray(results.map((result) => result.output)),
      ];
      const ended = await pool.query<{ id: string }>({ name: 'finish', text: FINISH, values });
      const ids = new Set(ended.rows.map((row) => row.id));
      return results.map((result) => ids.has(result.jobId));
    },
  });
  return {
    async submit(body, id = randomUUID()) {
      await submits.run({ id, input: valueIn(body), workerId: null });
      return id;
    },
    async submitTo(body, id = randomUUID(), workerId) {
      const job = { id, input: valueIn(body), workerId };
      await submits.run(job);
      return job;
    },
    take: (workerId) => takes.run(workerId),
    finish: (jobId, workerId, body) => finishes.run({ jobId, workerId, output: valueIn(body) }),
  };
}

/** Returns the text of the only property of `{"input":…}` or `{"output":…}`; JSON.parse only validates. */
function valueIn(body: string): string {
  JSON.parse(body);
  return body.slice(body.indexOf(':') + 1, -1);
}
