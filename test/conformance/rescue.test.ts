/** Jobs that end by themselves, and jobs that are never lost. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { EndpointId } from '../../src/core/ids.ts';
import type { FakeWorker } from '../fake-worker.ts';
import { QueuePlaneFixture, until } from '../queue-plane.ts';

const LEASE_MS = 2_000;

let plane: QueuePlaneFixture;
beforeAll(async () => {
  plane = await QueuePlaneFixture.start({ takeHoldMs: 300, leaseMs: LEASE_MS, graceMs: 100 });
});
afterAll(() => plane.close());

async function leased(id: EndpointId, worker: FakeWorker, more: object = {}): Promise<string> {
  const jobId = await plane.run(id, {}, more);
  expect((await worker.take()).body.id).toBe(jobId);
  return jobId;
}
const whenStatus = (id: EndpointId, jobId: string, status: string) =>
  until(
    () => plane.status(id, jobId),
    (job) => job?.status === status,
  );
const age = (jobId: string, seconds: number) =>
  plane.sql("update jobs set started_at = started_at - $2 * interval '1 s' where id = $1", jobId, seconds);

/** Pings until `work` is done, like a live worker. */
async function alive<T>(worker: FakeWorker, work: Promise<T>): Promise<T> {
  const state = { isOver: false };
  const done = work.finally(() => {
    state.isOver = true;
  });
  await until(
    async () => {
      await worker.ping('');
      return state.isOver;
    },
    (isOver) => isOver,
  );
  return done;
}

/** docs/interface/worker-api.md, "Leases", and docs/interface/queue.md, "Redelivery" */
describe('a silent worker', () => {
  test('loses its job, which is redelivered once, then FAILED: job timed out after 1 retries', async () => {
    const id = await plane.endpoint(1);
    const first = await plane.worker(id);
    const jobId = await leased(id, first);
    await whenStatus(id, jobId, 'IN_QUEUE');
    const second = await plane.worker(id, [first.id]);
    expect((await second.take()).body.id).toBe(jobId);
    expect(await plane.status(id, jobId)).toMatchObject({ status: 'IN_PROGRESS', retries: 1, workerId: second.id });
    const job = await whenStatus(id, jobId, 'FAILED');
    expect(job).toMatchObject({ error: 'job timed out after 1 retries', retries: 1 });
    const [row] = await plane.sql('select wanted_reason from workers where id = $1', first.id);
    expect(row.wanted_reason).toMatch(/^it was silent for \d+ s$/);
    const decisions = await plane.sql(
      `select a as action from scaling_decisions d, jsonb_array_elements(d.actions) a
       where a ->> 'workerId' = $1 and a ->> 'kind' <> 'start'`,
      first.id,
    );
    expect(decisions).toEqual([
      { action: { kind: 'stop', workerId: first.id, cause: 'SILENT', reason: row.wanted_reason } },
    ]);
    expect((await plane.call('GET', `${id}/health`)).body.jobs).toMatchObject({
      failed: 1,
      retried: 1,
      inProgress: 0,
      inQueue: 0,
    });
  });

  test('is one that neither pings, takes nor streams: any of these keeps its job', async () => {
    const id = await plane.endpoint(1);
    const worker = await plane.worker(id);
    const jobId = await leased(id, worker);
    const startedAt = Date.now();
    for (let n = 0; Date.now() - startedAt < 2.5 * LEASE_MS; n++) {
      if (n % 3 === 0) await worker.take('job_in_progress=1');
      else if (n % 3 === 1) await worker.chunk(jobId, '1');
      else await worker.ping(`job_id=${jobId}`);
      expect((await plane.status(id, jobId)).status).toBe('IN_PROGRESS');
    }
    expect((await worker.done(jobId, '{"output":1}')).status).toBe(200);
    expect((await plane.status(id, jobId)).retries).toBeUndefined();
  });
});

/** docs/interface/worker-api.md, "Leases" */
test('the lease of a worker that is gone after a kill is rescued', async () => {
  const id = await plane.endpoint();
  const jobId = await plane.run(id);
  await plane.sql(
    "update jobs set status = 'IN_PROGRESS', worker_id = 'ghost', attempt = 1, started_at = now() - interval '5 s' where id = $1",
    jobId,
  );
  await whenStatus(id, jobId, 'IN_QUEUE');
});

/** docs/interface/worker-api.md, "Leases" */
test('a server that stops keeps the lease of a busy worker', async () => {
  const own = await QueuePlaneFixture.start({ takeHoldMs: 300, leaseMs: 3_000 });
  try {
    const id = await own.endpoint(1);
    const worker = await own.worker(id);
    const jobId = await own.run(id);
    expect((await worker.take()).body.id).toBe(jobId);
    await own.stop();
    expect(await own.sql('select status, worker_id from jobs')).toEqual([
      { status: 'IN_PROGRESS', worker_id: worker.id },
    ]);
  } finally {
    await own.close();
  }
});

/** docs/interface/queue.md, "Timeouts" */
describe('executionTimeout', () => {
  test('a job over the timeout of its policy is FAILED: executionTimeout exceeded; its worker is notified, and a late result is dropped', async () => {
    const id = await plane.endpoint(1);
    const worker = await plane.worker(id);
    const jobId = await leased(id, worker, { policy: { executionTimeout: 5_000 } });
    await age(jobId, 5);
    const [job, orders] = await Promise.all([
      whenStatus(id, jobId, 'FAILED'),
      until(
        () => worker.stopOrders(),
        ({ status }) => status === 200,
      ),
    ]);
    expect(job).toMatchObject({ error: 'executionTimeout exceeded', workerId: worker.id });
    expect(orders.body).toEqual({ jobsToStop: [jobId] });
    expect((await worker.done(jobId, '{"output":"late"}')).status).toBe(200);
    expect((await plane.status(id, jobId)).output).toBeUndefined();
  });

  test('without a policy the endpoint’s timeout applies', async () => {
    const id = await plane.endpoint(1, { timeoutMs: 60_000 });
    const worker = await plane.worker(id);
    const jobId = await leased(id, worker);
    await age(jobId, 61);
    expect(await alive(worker, whenStatus(id, jobId, 'FAILED'))).toMatchObject({ error: 'executionTimeout exceeded' });
  });
});

/** docs/interface/queue.md, "Timeouts" */
describe('policy.ttl', () => {
  test('a job past its ttl becomes TIMED_OUT, queued or running; the worker is told to stop it', async () => {
    const id = await plane.endpoint(1);
    const worker = await plane.worker(id);
    const running = await leased(id, worker, { policy: { ttl: 10_000 } });
    const queued = await plane.run(id, {}, { policy: { ttl: 10_000 } });
    await plane.sql("update jobs set expires_at = expires_at - interval '11 s' where endpoint_id = $1", id);
    const job = await alive(worker, whenStatus(id, queued, 'TIMED_OUT'));
    expect(job.error).toContain('policy.ttl');
    const [stopped, orders] = await Promise.all([
      whenStatus(id, running, 'TIMED_OUT'),
      until(
        () => worker.stopOrders(),
        ({ status }) => status === 200,
      ),
    ]);
    expect(stopped).toMatchObject({ workerId: worker.id, error: expect.stringContaining('policy.ttl') });
    expect(orders.body).toEqual({ jobsToStop: [running] });
    expect((await worker.done(running, '{"output":"late"}')).status).toBe(200);
    expect((await plane.status(id, running)).output).toBeUndefined();
    expect((await plane.call('GET', `${id}/health`)).body.jobs).toMatchObject({ failed: 2, inProgress: 0 });
  });

  test('whichever of executionTimeout and ttl ends first names the end', async () => {
    const id = await plane.endpoint(2);
    const [one, other] = [await plane.worker(id), await plane.worker(id)];
    const policy = { ttl: 10_000, executionTimeout: 10_000 };
    const [slow, late] = [await leased(id, one, { policy }), await leased(id, other, { policy })];
    await plane.sql("update jobs set started_at = started_at - interval '12 s' where id = $1", slow);
    await plane.sql(
      "update jobs set started_at = started_at - interval '12 s', expires_at = expires_at - interval '13 s' where id = $1",
      late,
    );
    expect(await whenStatus(id, slow, 'FAILED')).toMatchObject({ error: 'executionTimeout exceeded' });
    await whenStatus(id, late, 'TIMED_OUT');
  });

  test('the URL of a submission may name both times; the body’s come first', async () => {
    const id = await plane.endpoint();
    const submit = (query: string, policy?: object) =>
      plane.call('POST', `${id}/run?${query}`, { body: { input: 1, ...(policy && { policy }) } });
    const times = (jobId: string) =>
      plane.sql(
        `select execution_timeout_ms::int as timeout, round(extract(epoch from expires_at - created_at) * 1000)::int as ttl
         from jobs where id = $1`,
        jobId,
      );
    const { body } = await submit('ttl=20000&executionTimeout=6000');
    expect(await times(body.id)).toEqual([{ timeout: 6_000, ttl: 20_000 }]);
    const both = await submit('ttl=20000&executionTimeout=6000', { ttl: 30_000 });
    expect(await times(both.body.id)).toEqual([{ timeout: 6_000, ttl: 30_000 }]);
    const bad = await submit('ttl=soon&executionTimeout=1');
    expect(bad).toMatchObject({ status: 400 });
    expect(bad.body.detail).toContain('?ttl: must be a whole number of milliseconds from 10000 to 604800000');
    expect(bad.body.detail).toContain('?executionTimeout: must be a whole number of milliseconds from 5000 to');
  });
});

/** docs/interface/queue.md, "Retention" */
describe('retention', () => {
  test('a result is kept for its retention, then not found', async () => {
    const own = await QueuePlaneFixture.start({ resultRetentionMs: 60_000, syncResultRetentionMs: 300 });
    try {
      const id = await own.endpoint();
      const run = await own.run(id);
      const sync = (await own.call('POST', `${id}/runsync?wait=0`, { body: { input: 1 } })).body.id;
      for (const jobId of [run, sync]) await own.call('POST', `${id}/cancel/${jobId}`);
      expect((await own.status(id, sync)).status).toBe('CANCELLED');
      const gone = await until(
        () => own.call('GET', `${id}/status/${sync}`),
        ({ status }) => status === 404,
      );
      expect(gone.body.detail).toBe('job not found');
      expect((await own.status(id, run)).status).toBe('CANCELLED');
    } finally {
      await own.close();
    }
  });
});

/** docs/interface/worker-api.md, "Readiness" */
test('a worker that is not ready within RUNPOD_INIT_TIMEOUT is stopped with the reason and replaced', async () => {
  const id = await plane.endpoint(1, { env: { RUNPOD_INIT_TIMEOUT: '1' } });
  const [ended] = await until(
    () => plane.sql("select phase_reason, is_lost from workers where endpoint_id = $1 and phase = 'EXITED'", id),
    (rows) => rows.length > 0,
  );
  expect(ended).toEqual({
    phase_reason: 'it was not ready within 1 s of its start (RUNPOD_INIT_TIMEOUT)',
    is_lost: true,
  });
  const next = "select 1 from workers where endpoint_id = $1 and phase <> 'EXITED'";
  await until(
    () => plane.sql(next, id),
    (rows) => rows.length > 0,
  );
});
