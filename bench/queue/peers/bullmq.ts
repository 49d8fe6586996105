/**
 * BullMQ 6 on Redis in its manual mode: `Queue.add`, a `Worker` without a processor, `getNextJob` and `moveToCompleted`. One
 * call and one script per job. With `--batched`, ioredis pipelines the commands of one turn.
 */
import { type Job, Queue, Worker } from 'bullmq';
import { Redis } from 'ioredis';
import type { FrontQueue } from './front.ts';
import { servePeer } from './serve-peer.ts';

const QUEUE = 'bench';

await servePeer(async ({ store, batched }) => {
  const connect = () => new Redis(store, { maxRetriesPerRequest: null, enableAutoPipelining: batched });
  const queue = new Queue(QUEUE, { connection: connect() });
  const worker = new Worker(QUEUE, null, { connection: connect(), autorun: false });
  await Promise.all([queue.waitUntilReady(), worker.waitUntilReady()]);
  await worker.startStalledCheckTimer();
  return bullQueue(queue, worker);
});

function bullQueue(queue: Queue, worker: Worker): FrontQueue {
  const leased = new Map<string, Job>();
  return {
    async submit(body, id) {
      const job = await queue.add(
        'job',
        (JSON.parse(body) as { input: object }).input,
        id === undefined ? {} : { jobId: id },
      );
      return job.id!;
    },
    async take(workerId) {
      const job = (await worker.getNextJob(workerId, { block: false })) as Job | undefined;
      if (!job) return null;
      leased.set(job.id!, job);
      return { id: job.id!, input: JSON.stringify(job.data) };
    },
    async finish(jobId, workerId, body) {
      const job = leased.get(jobId);
      if (!job) return false;
      await job.moveToCompleted((JSON.parse(body) as { output: unknown }).output, workerId, false);
      leased.delete(jobId);
      return true;
    },
  };
}
