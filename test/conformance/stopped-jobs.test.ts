/** docs/interface/worker-api.md, "Stopping jobs": a worker that may still run a job that has ended for everybody else. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { EndpointId } from '../../src/core/ids.ts';
import type { FakeWorker } from '../fake-worker.ts';
import { QueuePlaneFixture, until } from '../queue-plane.ts';

const JOB_STOP_MS = 1_500;
/** For a test that is not about the end of that time. */
const AMPLE_MS = 30_000;

let strict: QueuePlaneFixture;
let patient: QueuePlaneFixture;
beforeAll(async () => {
  const limits = { takeHoldMs: 300, leaseMs: 20_000, graceMs: 20_000 };
  strict = await QueuePlaneFixture.start({ ...limits, jobStopMs: JOB_STOP_MS });
  patient = await QueuePlaneFixture.start({ ...limits, jobStopMs: AMPLE_MS });
});
afterAll(() => Promise.all([strict?.close(), patient?.close()]));

const BUSY = 'job_in_progress=1';

async function leased(plane: QueuePlaneFixture, id: EndpointId, worker: FakeWorker, query?: string): Promise<string> {
  const jobId = await plane.run(id);
  expect((await worker.take(query)).body.id).toBe(jobId);
  return jobId;
}
const cancel = (plane: QueuePlaneFixture, id: EndpointId, jobId: string) => plane.call('POST', `${id}/cancel/${jobId}`);
const health = async (plane: QueuePlaneFixture, id: EndpointId) =>
  (await plane.call('GET', `${id}/health`)).body.workers;
const shown = async (plane: QueuePlaneFixture, id: EndpointId) =>
  (await plane.call('GET', `serverless/${id}/workers`)).body.workers;

test('a worker that goes on is busy and gets no job', async () => {
  const id = await patient.endpoint(1);
  const worker = await patient.worker(id);
  const first = await leased(patient, id, worker);
  const held = worker.take(BUSY);
  await cancel(patient, id, first);
  expect((await held).status).toBe(204);
  await patient.run(id);
  expect((await worker.take(BUSY)).status).toBe(204);
  expect(await health(patient, id)).toMatchObject({ idle: 0, running: 1 });
  expect(await shown(patient, id)).toMatchObject([
    { id: worker.id, status: 'RUNNING', reason: expect.stringContaining('stopping a job') },
  ]);
});

test('a worker that goes on is replaced with its reason once its time is over', async () => {
  const id = await strict.endpoint(1);
  const worker = await strict.worker(id);
  await cancel(strict, id, await leased(strict, id, worker));
  const next = await strict.run(id);
  const second = await strict.worker(id, [worker.id]);
  expect((await second.take()).body.id).toBe(next);
  const [row] = await strict.sql('select phase, phase_reason as reason from workers where id = $1', worker.id);
  expect(row).toEqual({ phase: 'EXITED', reason: 'it went on for 1.5 s with a job that it was told to stop' });
  const decisions = await strict.sql(
    `select a ->> 'kind' as kind, a ->> 'cause' as cause from scaling_decisions d, jsonb_array_elements(d.actions) a
     where a ->> 'workerId' = $1 and a ->> 'kind' <> 'start'`,
    worker.id,
  );
  expect(decisions).toEqual([{ kind: 'stop', cause: 'IGNORED_STOP' }]);
});

test('another worker starts at once for what waits, where one may, and the decision says why', async () => {
  const id = await patient.endpoint(0, { workers: { min: 0, max: 2 } });
  const first = await patient.run(id);
  const worker = await patient.worker(id);
  expect((await worker.take()).body.id).toBe(first);
  await cancel(patient, id, first);
  const next = await patient.run(id);
  const second = await patient.worker(id, [worker.id]);
  expect((await second.take()).body.id).toBe(next);
  const [decision] = await patient.sql(
    "select reason, inputs -> 'workers' as workers from scaling_decisions where endpoint_id = $1 order by id desc limit 1",
    id,
  );
  expect(decision.reason).toMatch(/; 1 worker is stopping a job$/);
  expect(decision.workers).toMatchObject({ idle: 0, busy: 1, stopping: 1 });
});

test('where none may start, the job that waits says what for', async () => {
  const id = await patient.endpoint(1);
  const worker = await patient.worker(id);
  await cancel(patient, id, await leased(patient, id, worker));
  const next = await patient.run(id);
  const { body } = await patient.call('GET', `${id}/status/${next}?explain=1`);
  expect(JSON.stringify(body)).toContain('stopping a job');
});

test.each([
  ['asks for work and says that it has none', (worker: FakeWorker) => worker.take()],
  ['reports the end of the job', (worker: FakeWorker, jobId: string) => worker.done(jobId, '{"output":"late"}')],
])('a worker that %s is kept, and takes the next job', async (_, obey) => {
  const id = await patient.endpoint(1);
  const worker = await patient.worker(id);
  const first = await leased(patient, id, worker);
  await cancel(patient, id, first);
  await obey(worker, first);
  expect(await health(patient, id)).toMatchObject({ idle: 1, running: 0 });
  const next = await leased(patient, id, worker);
  await worker.done(next, '{"output":1}');
  expect((await patient.status(id, first)).status).toBe('CANCELLED');
  const [row] = await patient.sql('select wanted from workers where id = $1', worker.id);
  expect(row.wanted).toBe('RUN');
});

test('other jobs are finished first; then the worker is replaced', async () => {
  const id = await strict.endpoint(1);
  const worker = await strict.worker(id);
  const runaway = await leased(strict, id, worker);
  const other = await leased(strict, id, worker, BUSY);
  await cancel(strict, id, runaway);
  const overdue = `select from job_stops where worker_id = $1 and created_at < now() - interval '${JOB_STOP_MS + 1_200} ms'`;
  await until(
    async () => {
      await worker.ping(`job_id=${runaway},${other}`);
      return strict.sql(overdue, worker.id);
    },
    (rows) => rows.length === 1,
  );
  expect(await strict.sql('select wanted from workers where id = $1', worker.id)).toEqual([{ wanted: 'RUN' }]);
  expect((await worker.done(other, '{"output":"whole"}')).status).toBe(200);
  expect(await strict.status(id, other)).toMatchObject({ status: 'COMPLETED', output: 'whole' });
  await strict.worker(id, [worker.id]);
});

test('a ping that names other jobs but not the stopped one says that it was stopped; one that names it again, that it was not', async () => {
  const id = await patient.endpoint(1);
  const worker = await patient.worker(id);
  const stopped = await leased(patient, id, worker);
  const other = await leased(patient, id, worker, BUSY);
  await cancel(patient, id, stopped);
  const isStopping = async () => (await shown(patient, id))[0].reason !== null;
  const age = (seconds: number) =>
    patient.sql(
      `update job_stops set created_at = created_at - $2 * interval '1 s', told_at = told_at - $2 * interval '1 s',
         obeyed_at = obeyed_at - $2 * interval '1 s' where job_id = $1`,
      stopped,
      seconds,
    );
  expect(await isStopping()).toBe(true);
  await age(-60); // the next request may take its time
  await worker.ping(`job_id=${other}`); // it may have been sent before the order
  expect(await isStopping()).toBe(true);
  await age(62);
  await worker.ping(`job_id=${other}`);
  expect(await isStopping()).toBe(false);
  await age(2);
  await worker.ping(`job_id=${other},${stopped}`);
  expect(await isStopping()).toBe(true);
});

test('a process that was not there when the job was stopped gives the worker none either', async () => {
  const id = await patient.endpoint(1);
  const worker = await patient.worker(id);
  const running = await leased(patient, id, worker);
  await patient.sql('insert into job_stops (worker_id, job_id) values ($1, $2)', worker.id, 'earlier');
  await patient.hint('worker', worker.id);
  await until(
    () => shown(patient, id),
    ([row]) => row.reason !== null,
  );
  await patient.run(id);
  expect((await worker.take(BUSY)).status).toBe(204);
  await worker.done(running, '{"output":1}');
  expect((await worker.take()).status).toBe(200);
});
