/**
 * pg-boss 12 as its users run it: send, fetch and complete, one statement per job. With `--batched`, calls that wait at the
 * same moment share a statement where pg-boss supports it (`insert`, `fetch` with a batch size). `complete` stays one call
 * per job, because results differ.
 */
import { randomUUID } from 'node:crypto';
import { type JobInsert, PgBoss } from 'pg-boss';
import { Batcher } from '../../../src/core/flow/batcher.ts';
import type { FrontJob, FrontQueue } from './front.ts';
import { servePeer } from './serve-peer.ts';

const QUEUE = 'bench';
const CONNECTIONS = 10; // its default; more were slower on two cores
const BATCH = { lanes: 2, maxSize: 256, isCallFault: () => false };

await servePeer(async ({ store, batched }) => {
  const boss = new PgBoss({ connectionString: store, max: CONNECTIONS, schedule: false });
  boss.on('error', (error) => process.stderr.write(`pg-boss: ${error.message}\n`));
  await boss.start();
  await boss.createQueue(QUEUE);
  return batched ? batchedQueue(boss) : plainQueue(boss);
});

function plainQueue(boss: PgBoss): FrontQueue {
  return {
    async submit(body, id) {
      return (await boss.send(QUEUE, readInput(body), id === undefined ? {} : { id }))!;
    },
    async take() {
      const [job] = await boss.fetch<object>(QUEUE);
      return job ? toFrontJob(job) : null;
    },
    async finish(jobId, _workerId, body) {
      await boss.complete(QUEUE, jobId, (JSON.parse(body) as { output: object }).output);
      return true;
    },
  };
}

function batchedQueue(boss: PgBoss): FrontQueue {
  const inserts = new Batcher<JobInsert, void>({
    ...BATCH,
    flush: async (jobs) => {
      await boss.insert(QUEUE, [...jobs]);
      return jobs.map(() => undefined);
    },
  });
  const fetches = new Batcher<null, FrontJob | null>({
    ...BATCH,
    flush: async (calls) => {
      const jobs = await boss.fetch<object>(QUEUE, { batchSize: calls.length });
      return calls.map((_, i) => (jobs[i] ? toFrontJob(jobs[i]) : null));
    },
  });
  return {
    ...plainQueue(boss),
    async submit(body, id = randomUUID()) {
      await inserts.run({ id, data: readInput(body) });
      return id;
    },
    take: () => fetches.run(null),
  };
}

function readInput(body: string): object {
  return (JSON.parse(body) as { input: object }).input;
}

function toFrontJob(job: { id: string; data: object }): FrontJob {
  return { id: job.id, input: JSON.stringify(job.data) };
}
