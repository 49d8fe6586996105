import { afterEach, expect, test } from 'vitest';
import type { EndpointId } from '../../src/core/ids.ts';
import type { FakeWorker, WorkerAnswer } from '../fake-worker.ts';
import { QueuePlaneFixture, until } from '../queue-plane.ts';

let plane: QueuePlaneFixture;
afterEach(() => plane?.close());

const start = async (gpus: string) => {
  plane = await QueuePlaneFixture.start({ takeHoldMs: 300_000 }, false, {}, gpus);
};
const endpoint = (idleTimeoutSeconds = 60) =>
  plane.endpoint(0, {
    workers: { min: 0, max: 1 },
    flashboot: 'FLASHBOOT',
    scaling: { type: 'QUEUE_DELAY', value: 4, idleTimeoutSeconds },
  });
const row = async (id: string) =>
  (
    await plane.sql(
      `select phase, wanted, asleep_at is not null as "isAsleep", gpus_released_at is not null as "isReleased",
              phase_reason as reason from workers where id = $1`,
      id,
    )
  )[0];
const becomes = (id: string, wanted: object) =>
  until(
    () => row(id),
    (found) => Object.entries(wanted).every(([name, value]) => found[name] === value),
  );
/** Takes until the answer is not a plain 204: a job, or an order to sleep or wake. */
async function take(worker: FakeWorker, more = ''): Promise<WorkerAnswer> {
  for (;;) {
    const answer = await worker.take(`job_in_progress=0&can_sleep=1${more}`);
    if (answer.status === 200 || answer.headers.has('podyard-sleep') || answer.headers.has('podyard-wake'))
      return answer;
  }
}
/** Falls asleep as a kit does. Resolves when the worker may wake, which it then does. */
async function sleep(worker: FakeWorker): Promise<void> {
  expect((await take(worker, '&asleep=1')).headers.get('podyard-wake')).toBe('1');
}
/** The endpoint's first worker, idle after its first job. */
async function coldStart(endpointId: EndpointId): Promise<FakeWorker> {
  const id = await plane.run(endpointId);
  const worker = await plane.worker(endpointId);
  expect((await take(worker)).body.id).toBe(id);
  await worker.done(id, '{"output":1}');
  return worker;
}

/** docs/interface/worker-api.md, "Sleeping" */
test('an idle worker that can sleep does so before it is frozen, and wakes before it gets the next job', async () => {
  await start('ADA_24:1');
  const id = await endpoint(0);
  const first = await plane.run(id);
  const worker = await plane.worker(id);
  expect((await take(worker)).body.id).toBe(first);
  await worker.done(first, '{"output":1}');
  expect((await take(worker)).headers.get('podyard-sleep')).toBe('1');
  expect(await row(worker.id)).toMatchObject({ phase: 'RUNNING', isAsleep: false, isReleased: false });
  const woken = sleep(worker);
  await becomes(worker.id, { phase: 'FROZEN', isAsleep: true, isReleased: true });
  const second = await plane.run(id);
  await woken;
  expect(await row(worker.id)).toMatchObject({ wanted: 'RUN', isAsleep: true, isReleased: false });
  expect((await take(worker)).body.id).toBe(second);
  expect(await row(worker.id)).toMatchObject({ phase: 'RUNNING', isAsleep: false, isReleased: false });
  await worker.done(second, '{"output":2}');
});

/** docs/interface/worker-api.md, "Sleeping" */
test('two endpoints share one GPU: the idle worker falls asleep as soon as the other has work', async () => {
  await start('ADA_24:1');
  const [one, two] = [await endpoint(), await endpoint()];
  const a = await coldStart(one);
  const ordered = take(a); // idle, long before its idle timeout
  const job = await plane.run(two);
  expect((await ordered).headers.get('podyard-sleep')).toBe('1');
  let asleep = { worker: a, endpointId: one, woken: sleep(a) };
  const b = await plane.worker(two); // a cold start on the GPU that the other one gave
  expect((await take(b)).body.id).toBe(job);
  await b.done(job, '{"output":1}');
  let awake = { worker: b, endpointId: two };
  for (let i = 0; i < 4; i++) {
    const idle = take(awake.worker);
    const next = await plane.run(asleep.endpointId);
    expect((await idle).headers.get('podyard-sleep')).toBe('1');
    const woken = sleep(awake.worker);
    await asleep.woken;
    expect((await take(asleep.worker)).body.id).toBe(next);
    await asleep.worker.done(next, '{"output":1}');
    [awake, asleep] = [asleep, { ...awake, woken }];
  }
  asleep.woken.catch(() => {}); // nobody wakes it any more
  expect(await plane.sql("select count(*) from workers where phase = 'EXITED'")).toEqual([{ count: 0 }]);
});

/** docs/interface/worker-api.md, "Sleeping" */
test('a busy worker keeps its GPU, and what waits for it waits', async () => {
  await start('ADA_24:1');
  const [one, two] = [await endpoint(), await endpoint(0)];
  const b = await coldStart(two);
  await take(b);
  const woken = sleep(b);
  await becomes(b.id, { phase: 'FROZEN', isReleased: true });
  const long = await plane.run(one);
  const a = await plane.worker(one);
  expect((await take(a)).body.id).toBe(long);
  const waiting = await plane.run(two);
  await becomes(b.id, { wanted: 'RUN', reason: 'no capacity: its GPUs are in use; it wakes when it gets them back' });
  const { explain } = (await plane.call('GET', `${two}/status/${waiting}?explain=1`)).body;
  expect(JSON.stringify(explain)).toContain('its GPUs are in use');
  await a.ping();
  expect(await row(b.id)).toMatchObject({ phase: 'FROZEN', isReleased: true });
  expect(await row(a.id)).toMatchObject({ phase: 'RUNNING', wanted: 'RUN' });
  await a.done(long, '{"output":1}');
  expect((await take(a)).headers.get('podyard-sleep')).toBe('1');
  sleep(a).catch(() => {});
  await woken;
  expect((await take(b)).body.id).toBe(waiting);
});

/** docs/interface/worker-api.md, "Sleeping" */
test('a worker whose handler fails keeps its GPU, and is frozen with it', async () => {
  await start('ADA_24:1');
  const id = await endpoint(0);
  const worker = await coldStart(id);
  expect((await take(worker)).headers.get('podyard-sleep')).toBe('1');
  await worker.take('job_in_progress=0&can_sleep=0');
  await becomes(worker.id, { phase: 'FROZEN', isAsleep: false, isReleased: false });
});
