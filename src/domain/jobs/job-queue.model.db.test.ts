import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { done, JobQueueFixture, moved, worker } from '../../../test/job-queue.ts';
import { type EndpointId, type JobId, newId, type WorkerId } from '../../core/ids.ts';
import type { JobQueue } from './job-queue.ts';

let fixture: JobQueueFixture;
beforeAll(async () => {
  fixture = await JobQueueFixture.create();
});
afterAll(() => fixture.drop());

/** A model of the queue in a few lines: the database is compared with it after every step. */
interface ModelJob {
  id: JobId;
  status: string;
  holder: WorkerId | null;
  attempt: number;
  isLow: boolean;
  order: number;
  output: string | null;
}

class Model {
  readonly jobs: ModelJob[] = [];
  readonly counters = moved({});
  #order = 0;

  add(id: JobId, isLow: boolean, holder: WorkerId | null): void {
    const status = holder ? 'IN_PROGRESS' : 'IN_QUEUE';
    this.jobs.push({ id, status, holder, attempt: holder ? 1 : 0, isLow, order: this.#order++, output: null });
  }

  queued(): ModelJob[] {
    const waiting = this.jobs.filter((job) => job.status === 'IN_QUEUE');
    return waiting.sort((a, b) => Number(a.isLow) - Number(b.isLow) || a.order - b.order);
  }

  heldBy(holder: WorkerId): ModelJob[] {
    return this.jobs.filter((job) => job.status === 'IN_PROGRESS' && job.holder === holder);
  }

  end(job: ModelJob, status: string, output: string | null = null): void {
    Object.assign(job, { status, output });
    this.counters[status.toLowerCase()]! += 1;
  }

  putBack(job: ModelJob, isRetry: boolean): void {
    Object.assign(job, { status: 'IN_QUEUE', holder: null, attempt: job.attempt - (isRetry ? 0 : 1) });
    if (isRetry) this.counters.retried! += 1;
  }

  again(job: ModelJob): void {
    Object.assign(job, { status: 'IN_QUEUE', holder: null, attempt: 0, output: null, order: this.#order++ });
    this.counters.retried! += 1;
  }

  expectedCounters(): Record<string, number> {
    const count = (test: (job: ModelJob) => boolean) => this.jobs.filter(test).length;
    return {
      ...this.counters,
      queued: count((job) => job.status === 'IN_QUEUE' && !job.isLow),
      queued_low: count((job) => job.status === 'IN_QUEUE' && job.isLow),
      in_progress: count((job) => job.status === 'IN_PROGRESS'),
    };
  }
}

const WORKERS = ['w0', 'w1', 'w2'];
const operation = fc.record({
  kind: fc.constantFrom(
    'submit',
    'submit',
    'take',
    'take',
    'finish',
    'finish',
    'cancel',
    'rescue',
    'release',
    'retry',
    'expire',
    'purge',
    'timeOut',
  ),
  job: fc.nat(30),
  worker: fc.nat(2),
  flag: fc.boolean(),
  slots: fc.integer({ min: 1, max: 3 }),
});

test('after any operations in any order, jobs and counters are exactly those of a simple model', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(operation, { minLength: 5, maxLength: 40 }), async (operations) => {
      const id = await fixture.endpoint(1);
      const model = new Model();
      const name = newId(6);
      for (const [n, step] of operations.entries()) {
        const w = `${WORKERS[step.worker]}-${name}` as WorkerId;
        await perform(id, model, step, model.jobs[step.job % Math.max(1, model.jobs.length)], w, n);
      }
      await compare(id, model);
    }),
    { numRuns: 60 },
  );
});

async function perform(
  id: EndpointId,
  model: Model,
  step: { kind: string; flag: boolean; slots: number },
  job: ModelJob | undefined,
  w: WorkerId,
  n: number,
): Promise<void> {
  switch (step.kind) {
    case 'submit': {
      const holder = step.flag && n % 2 === 0 ? w : null;
      model.add(await fixture.submit(id, { isLowPriority: n % 3 === 0, workerId: holder }), n % 3 === 0, holder);
      return;
    }
    case 'take': {
      const expected = model.queued().slice(0, step.slots);
      expect((await fixture.queue.take(id, w, step.slots)).map((taken) => taken.id)).toEqual(
        expected.map((each) => each.id),
      );
      for (const each of expected) Object.assign(each, { status: 'IN_PROGRESS', holder: w, attempt: each.attempt + 1 });
      return;
    }
    case 'finish': {
      const isHolder = job?.status === 'IN_PROGRESS' && job.holder === w;
      const outcome = await fixture.queue.finish({
        ...done(job?.id ?? ('nope' as JobId), w, `${n}`),
        status: step.flag ? 'COMPLETED' : 'FAILED',
      });
      expect(outcome.kind).toBe(isHolder ? 'ended' : job ? 'stale' : 'unknown');
      if (isHolder) model.end(job, step.flag ? 'COMPLETED' : 'FAILED', `${n}`);
      return;
    }
    case 'cancel': {
      const isLive = job?.status === 'IN_QUEUE' || job?.status === 'IN_PROGRESS';
      expect((await fixture.queue.cancel(job?.id ?? ('nope' as JobId), id)) !== undefined).toBe(isLive);
      if (isLive) model.end(job!, 'CANCELLED');
      return;
    }
    case 'rescue': {
      const held = model.heldBy(w);
      const { ended } = await fixture.queue.rescue([w], 1);
      expect(ended.map((each) => each.id).sort()).toEqual(
        held
          .filter((each) => each.attempt > 1)
          .map((each) => each.id)
          .sort(),
      );
      for (const each of held)
        if (each.attempt > 1) model.end(each, 'FAILED');
        else model.putBack(each, true);
      return;
    }
    case 'release': {
      if (!job) return;
      await fixture.queue.releaseUndelivered(w, [job.id]);
      if (model.heldBy(w).includes(job)) model.putBack(job, false);
      return;
    }
    case 'retry': {
      const isOver = job?.status === 'FAILED' || job?.status === 'TIMED_OUT';
      expect(await fixture.queue.retry(job?.id ?? ('nope' as JobId), id)).toBe(isOver);
      if (isOver) model.again(job!);
      return;
    }
    case 'expire': {
      if (job?.status !== 'IN_QUEUE') return;
      await fixture.sql(
        "update jobs set created_at = now() - interval '1 day', expires_at = now(), has_own_ttl = true where id = $1",
        job.id,
      );
      await fixture.queue.expireQueued(100);
      model.end(job, 'TIMED_OUT');
      return;
    }
    case 'timeOut': {
      if (job?.status !== 'IN_PROGRESS') return;
      await fixture.sql("update jobs set started_at = now() - interval '1 s' where id = $1", job.id);
      await fixture.sql(
        "update jobs set started_at = now() + interval '1 h' where endpoint_id = $1 and id <> $2 and status = 'IN_PROGRESS'",
        id,
        job.id,
      );
      await fixture.queue.expireRunning();
      model.end(job, 'FAILED');
      return;
    }
    case 'purge': {
      if (!step.flag) return;
      const expected = model.queued().map((each) => each.id);
      const purged = [];
      for await (const slice of fixture.queue.purge(id)) purged.push(...slice.map((each) => each.id));
      expect(purged.sort()).toEqual(expected.sort());
      for (const each of model.queued()) model.end(each, 'CANCELLED');
      return;
    }
  }
}

async function compare(id: EndpointId, model: Model): Promise<void> {
  const found = await Promise.all(model.jobs.map((job) => fixture.queue.find(job.id)));
  const [{ count }] = await fixture.sql(
    'select (select count(*) from jobs where endpoint_id = $1) + (select count(*) from finished_jobs where endpoint_id = $1) as count',
    id,
  );
  expect(count).toBe(model.jobs.length);
  expect(found.map((job) => ({ status: job?.status, output: job?.output, retries: job?.retries }))).toEqual(
    model.jobs.map(({ status, output, attempt }) => ({ status, output, retries: Math.max(0, attempt - 1) })),
  );
  const holders = model.jobs.map((job) => (job.status === 'IN_QUEUE' ? null : job.holder));
  expect(found.map((job) => job?.workerId)).toEqual(holders);
  expect(await fixture.counters(id)).toEqual(model.expectedCounters());
}

test('under concurrent load every job ends once and the counters add up', async () => {
  const id = await fixture.endpoint();
  const processes = [fixture.newQueue(), fixture.newQueue()];
  const jobs = await Promise.all(
    Array.from({ length: 200 }, (_, i) => fixture.submit(id, { isLowPriority: i % 5 === 0 })),
  );
  const workers = Array.from({ length: 12 }, () => worker());
  let ended = 0;
  const work = async (w: WorkerId, process: JobQueue) => {
    for (let round = 0; round < 30; round++) {
      for (const { id: jobId } of await process.take(id, w, 2)) {
        if (round % 7 === 3) await process.rescue([w], 100);
        const outcomes = await Promise.all([processes[0]!, processes[1]!].map((each) => each.finish(done(jobId, w))));
        ended += outcomes.filter(({ kind }) => kind === 'ended').length;
      }
    }
  };
  const cancel = async () => {
    for (const jobId of jobs.filter((_, i) => i % 10 === 0)) if (await fixture.queue.cancel(jobId, id)) ended += 1;
  };
  await Promise.all([...workers.map((w, i) => work(w, processes[i % 2]!)), cancel()]);
  for (const { id: jobId } of await fixture.queue.take(id, workers[0]!, 200)) {
    ended += (await fixture.queue.finish(done(jobId, workers[0]!))).kind === 'ended' ? 1 : 0;
  }
  expect(ended).toBe(200);
  const sums = await fixture.counters(id);
  expect(sums).toMatchObject({ queued: 0, queued_low: 0, in_progress: 0 });
  expect(sums.completed! + sums.cancelled!).toBe(200);
});
