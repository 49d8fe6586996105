/**
 * Guarantees for worker images of the public interface, and how a lying worker is handled:
 * docs/interface/worker-api.md.
 */
import { request } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { EndpointId } from '../../src/core/ids.ts';
import type { FakeWorker } from '../fake-worker.ts';
import { QueuePlaneFixture, until } from '../queue-plane.ts';

const HOLD_MS = 400;
const RESULT_BYTES = 2_048;

let plane: QueuePlaneFixture;
let endpoint: EndpointId;
let worker: FakeWorker;

beforeAll(async () => {
  plane = await QueuePlaneFixture.start({ takeHoldMs: HOLD_MS, resultBytes: RESULT_BYTES });
  endpoint = await plane.endpoint(1);
  worker = await plane.worker(endpoint);
});
afterAll(() => plane.close());

async function timed<T>(work: Promise<T>): Promise<{ answer: T; ms: number }> {
  const startedAt = performance.now();
  const answer = await work;
  return { answer, ms: performance.now() - startedAt };
}

/** Submits a job and has `by` take it. Returns its id. */
async function leased(by = worker, at = endpoint): Promise<string> {
  const id = await plane.run(at, { n: 1 });
  expect((await by.take()).body.id).toBe(id);
  return id;
}
const job = (id: string) => plane.status(endpoint, id);

/** docs/interface/worker-api.md, "Taking jobs" */
describe('take', () => {
  test('is held, and answered with an empty 204 when there is no job', async () => {
    const { answer, ms } = await timed(worker.take());
    expect(answer).toMatchObject({ status: 204, text: '' });
    expect(ms).toBeGreaterThanOrEqual(HOLD_MS - 20);
  });

  test('is answered as soon as there is a job, with its id and input', async () => {
    const take = worker.take();
    const id = await plane.run(endpoint, { a: 1 });
    expect(await take).toMatchObject({ status: 200, body: { id, input: { a: 1 } } });
    await worker.done(id, '{}');
  });

  test('job_in_progress=1 takes more jobs beside the running one', async () => {
    const first = await leased();
    const second = await plane.run(endpoint);
    expect((await worker.take('job_in_progress=1')).body.id).toBe(second);
    await worker.done(first, '{}');
    await worker.done(second, '{}');
  });

  test('a batch lists at most batch_size jobs, in order', async () => {
    const ids = [await plane.run(endpoint), await plane.run(endpoint), await plane.run(endpoint)];
    expect((await worker.takeBatch(2)).body.map((taken: { id: string }) => taken.id)).toEqual(ids.slice(0, 2));
    const { status, body } = await worker.takeBatch(100);
    expect({ status, ids: body.map((taken: { id: string }) => taken.id) }).toEqual({ status: 200, ids: [ids[2]] });
    for (const id of ids) await worker.done(id, '{}');
    expect((await worker.takeBatch(5)).status).toBe(204);
  });

  test.each(['0', '-3', 'many', ''])('a batch_size of %j counts as one', async (size) => {
    const ids = [await plane.run(endpoint), await plane.run(endpoint)];
    for (const id of ids) expect((await worker.takeBatch(size)).body).toMatchObject([{ id }]);
    for (const id of ids) await worker.done(id, '{}');
  });

  test('no job is lost to a closed connection: the next worker gets it', async () => {
    const controller = new AbortController();
    const gone = worker.take('job_in_progress=0', controller.signal).catch(() => 'gone');
    await worker.ping();
    controller.abort();
    expect(await gone).toBe('gone');
    const id = await plane.run(endpoint);
    expect((await worker.take()).body.id).toBe(id);
    await worker.done(id, '{}');
  });
});

/** docs/interface/worker-api.md, "Results" */
describe('a result', () => {
  test.each([
    ['{"output":null}', { status: 'COMPLETED', output: null }],
    ['{"output":[1,{"a":"é"}]}', { status: 'COMPLETED', output: [1, { a: 'é' }] }],
    ['{}', { status: 'COMPLETED', output: undefined }],
    ['{"error":"bad"}', { status: 'FAILED', error: 'bad', output: undefined }],
    ['{"error":"bad","output":{"partial":1}}', { status: 'FAILED', error: 'bad', output: { partial: 1 } }],
    ['{"error":null,"output":1}', { status: 'COMPLETED', output: 1, error: undefined }],
    [
      '{"error":{"type":"X", "big":12345678901234567890}}',
      { status: 'FAILED', error: '{"type":"X", "big":12345678901234567890}' },
    ],
    ['{"error":["a"]}', { status: 'FAILED', error: '["a"]' }],
    ['{"error":"nul \\u0000 inside"}', { status: 'FAILED', error: 'nul \uFFFD inside' }],
    ['"bare text"', { status: 'COMPLETED', output: 'bare text' }],
    ['[1,2]', { status: 'COMPLETED', output: [1, 2] }],
    ['42', { status: 'COMPLETED', output: 42 }],
    ['null', { status: 'COMPLETED', output: null }],
  ])('%s, whatever its content type', async (report, expected) => {
    const id = await leased();
    expect((await worker.done(id, report)).status).toBe(200);
    const seen = await job(id);
    expect({ ...seen, output: seen.output, error: seen.error }).toMatchObject(expected);
  });

  test('an exception as reported by SDKs becomes the unchanged error text', async () => {
    const id = await leased();
    const error = JSON.stringify({
      error_type: "<class 'ValueError'>",
      error_message: 'bad',
      error_traceback: 'Traceback …',
    });
    await worker.done(id, JSON.stringify({ error }));
    expect((await job(id)).error).toBe(error);
  });

  test('a progress update is the output while the job runs, and ignored after its end', async () => {
    const id = await leased();
    expect((await worker.done(id, '{"status":"IN_PROGRESS","output":{"percent":50}}')).status).toBe(200);
    expect(await job(id)).toMatchObject({ status: 'IN_PROGRESS', output: { percent: 50 } });
    await worker.done(id, '{"output":"final"}');
    expect((await worker.done(id, '{"status":"IN_PROGRESS","output":{"percent":99}}')).status).toBe(200);
    expect(await job(id)).toMatchObject({ status: 'COMPLETED', output: 'final' });
  });

  test('a repeated result gets 200 and counts once', async () => {
    const id = await leased();
    expect((await worker.done(id, '{"output":1}')).status).toBe(200);
    expect((await worker.done(id, '{"output":2}')).status).toBe(200);
    expect((await job(id)).output).toBe(1);
  });

  test('over the limit fails the job with size and limit in its error, and the worker gets a 400', async () => {
    const id = await leased();
    const answer = await worker.done(id, JSON.stringify({ output: 'x'.repeat(3_000) }));
    const sentence = 'the result of 3013 bytes is larger than the limit of 2048 bytes';
    expect(answer).toMatchObject({ status: 400, body: { detail: sentence } });
    expect(await job(id)).toMatchObject({ status: 'FAILED', error: sentence });
  });

  test('far over the limit is refused unread, and the worker still gets the response', async () => {
    const id = await leased();
    const report = JSON.stringify({ output: 'x'.repeat(5_000_000) });
    expect((await worker.done(id, report)).status).toBe(400);
    expect(await job(id)).toMatchObject({
      status: 'FAILED',
      error: 'the result of 5000013 bytes is larger than the limit of 2048 bytes',
    });
  });

  test('that is not JSON fails the job instead of leaving it running', async () => {
    const id = await leased();
    const sentence = 'the worker sent a result that is not valid JSON';
    expect(await worker.done(id, '{"output":')).toMatchObject({ status: 400, body: { detail: sentence } });
    expect(await job(id)).toMatchObject({ status: 'FAILED', error: sentence });
  });

  test('with stopPod the worker gets no more jobs and is replaced', async () => {
    const id = await plane.endpoint(1);
    const own = await plane.worker(id);
    const jobId = await leased(own, id);
    await own.done(jobId, '{"output":1,"stopPod":true}');
    expect(await plane.status(id, jobId)).toMatchObject({ status: 'COMPLETED', output: 1 });
    const next = await plane.worker(id, [own.id]);
    expect(next.id).not.toBe(own.id);
    const [row] = await plane.sql('select wanted_reason from workers where id = $1', own.id);
    expect(row.wanted_reason).toBe('it asked to be replaced');
    const decisions = await plane.sql(
      `select a ->> 'cause' as cause from scaling_decisions d, jsonb_array_elements(d.actions) a
       where a ->> 'workerId' = $1 and a ->> 'kind' <> 'start'`,
      own.id,
    );
    expect(decisions).toEqual([{ cause: 'ASKED' }]);
  });
});

/** docs/interface/worker-api.md, "Chunks" */
describe('chunks', () => {
  test('over the limit or not JSON are rejected; of a job that the worker does not hold they are dropped', async () => {
    const id = await leased();
    expect((await worker.chunk(id, JSON.stringify({ output: 'x'.repeat(3_000) }))).status).toBe(400);
    expect((await worker.chunk(id, '{"output":')).status).toBe(400);
    await worker.done(id, '{}');
    expect((await worker.chunk(id, '{"output":"late"}')).status).toBe(200);
    expect((await plane.call('GET', `${endpoint}/stream/${id}`)).body).toEqual({ status: 'COMPLETED', stream: [] });
  });
});

/** docs/interface/worker-api.md, "Addresses and tokens", "Results" and "Leases" */
describe('a worker that lies', () => {
  let other: FakeWorker;
  let foreignEndpoint: EndpointId;
  let foreign: FakeWorker;
  beforeAll(async () => {
    const two = await plane.endpoint(2);
    other = await plane.worker(two);
    foreignEndpoint = await plane.endpoint(1);
    foreign = await plane.worker(foreignEndpoint);
  });

  test('cannot finish, stream to or report on a job of another worker', async () => {
    const id = await leased();
    const answers = [
      await other.done(id, '{"output":"lie"}'),
      await other.done(id, '{"error":"lie"}'),
      await foreign.done(id, '{"output":"lie"}'),
    ];
    expect(answers.map(({ status }) => status)).toEqual([404, 404, 404]);
    expect((await foreign.done(id, '{"status":"IN_PROGRESS","output":"lie"}')).status).toBe(200);
    expect((await foreign.chunk(id, '{"output":"lie"}')).status).toBe(200);
    expect(await job(id)).toMatchObject({ status: 'IN_PROGRESS', workerId: worker.id });
    expect((await job(id)).output).toBeUndefined();
    await worker.done(id, '{"output":"truth"}');
    expect((await plane.call('GET', `${endpoint}/stream/${id}`)).body.stream).toEqual([]);
    expect((await job(id)).output).toBe('truth');
  });

  test('gets the same answer for a job of another user as for a missing one', async () => {
    const id = await leased();
    const [real, unreal] = [await foreign.done(id, '{"output":1}'), await foreign.done('nope', '{"output":1}')];
    expect([real.status, real.text]).toEqual([unreal.status, unreal.text]);
    expect(real).toMatchObject({ status: 404, body: { detail: 'job not found' } });
    await worker.done(id, '{}');
  });

  test('cannot finish a queued job, or one of another worker of its endpoint', async () => {
    const two = await plane.endpoint(2);
    const first = await plane.worker(two);
    const second = await plane.worker(two, [first.id]);
    const id = await plane.run(two);
    expect((await first.done(id, '{"output":"lie"}')).status).toBe(200);
    expect((await plane.status(two, id)).status).toBe('IN_QUEUE');
    await first.take();
    expect((await second.done(id, '{"output":"lie"}')).status).toBe(200);
    expect((await plane.status(two, id)).status).toBe('IN_PROGRESS');
  });

  test.each(['', 'wrong', 'Bearer wrong'])('with the token %j it gets 401 after a second', async (token) => {
    const { answer, ms } = await timed(worker.call('GET', `job-take/${worker.id}?gpu=cpu`, { token }));
    expect(answer).toMatchObject({ status: 401, body: { detail: 'invalid worker token' } });
    expect(ms).toBeGreaterThanOrEqual(980);
  });

  test('with another worker’s token or at another endpoint it gets the same 401', async () => {
    const answers = await Promise.all([
      worker.call('GET', `job-take/${worker.id}`, { token: `pyw_${foreign.id}` }),
      foreign.call('GET', `job-take/${worker.id}`, { token: `pyw_${worker.id}` }),
      worker.call('GET', 'job-take/nobody', {}),
    ]);
    for (const answer of answers)
      expect(answer).toMatchObject({ status: 401, body: { detail: 'invalid worker token' } });
  });

  test('unknown paths and wrong methods are rejected after a second', async () => {
    const answers = await Promise.all([
      timed(worker.call('GET', `nothing/${worker.id}`)),
      timed(worker.call('POST', `job-take/${worker.id}`, { body: '{}' })),
      timed(worker.call('GET', `job-done/${worker.id}/x`)),
      timed(worker.call('POST', `job-done/${worker.id}`, { body: '{}' })),
      timed(worker.call('GET', `job-take/${worker.id}/x`)),
    ]);
    expect(answers.map(({ answer }) => answer.status)).toEqual([404, 405, 405, 404, 404]);
    for (const { ms } of answers) expect(ms).toBeGreaterThanOrEqual(980);
  });

  test('after its end its token is invalid, and its job is redelivered', async () => {
    const id = await plane.endpoint(1);
    const own = await plane.worker(id);
    const jobId = await leased(own, id);
    await plane.sql("update workers set wanted = 'STOP', wanted_reason = 'test' where id = $1", own.id);
    await plane.hint('worker', own.id);
    await until(
      () => own.ping(), // the row is written before the hint is sent
      ({ status }) => status === 401,
    );
    expect((await own.done(jobId, '{"output":"late"}')).status).toBe(401);
    const next = await plane.worker(id, [own.id]);
    expect((await next.take()).body.id).toBe(jobId);
    expect(await plane.status(id, jobId)).toMatchObject({ status: 'IN_PROGRESS', retries: 1, workerId: next.id });
    await next.done(jobId, '{"output":"good"}');
    expect(await plane.status(id, jobId)).toMatchObject({ status: 'COMPLETED', output: 'good', retries: 1 });
  });

  test('cannot make another process read its path', async () => {
    const { port, hostname } = new URL(plane.url);
    const status = await new Promise((resolve, reject) => {
      const req = request({
        port,
        hostname,
        path: `/v2/${endpoint}/job-take/${worker.id}`,
        headers: { authorization: `pyw_${worker.id}` },
      });
      req
        .on('response', (res) => resolve(res.resume().statusCode))
        .on('error', reject)
        .end();
    });
    expect(status).toBe(401); // the public listener has no worker API
  });
});

/** docs/interface/worker-api.md, "Stopping jobs" */
describe('job-stop', () => {
  test('is held, and answered with 204 when there is nothing to stop', async () => {
    const { answer, ms } = await timed(worker.stopOrders());
    expect(answer.status).toBe(204);
    expect(ms).toBeGreaterThanOrEqual(HOLD_MS - 20);
  });

  test('lists the jobs to stop, including those from before the poll, once each', async () => {
    const ids = [await leased(), await plane.run(endpoint)];
    await worker.take('job_in_progress=1');
    for (const id of ids) await plane.call('POST', `${endpoint}/cancel/${id}`);
    const { status, body } = await worker.stopOrders();
    expect({ status, ids: body.jobsToStop.sort() }).toEqual({ status: 200, ids: ids.sort() });
    expect((await worker.stopOrders()).status).toBe(204);
  });

  test('an order whose poll was cut off goes to the next poll', async () => {
    const id = await leased();
    const controller = new AbortController();
    const gone = worker.stopOrders(controller.signal).catch(() => 'gone');
    await worker.ping();
    controller.abort();
    await gone;
    await plane.call('POST', `${endpoint}/cancel/${id}`);
    const answers = await until(
      () => worker.stopOrders(),
      ({ status }) => status === 200,
    );
    expect(answers.body).toEqual({ jobsToStop: [id] });
  });

  test('an order is repeated while pings name its job, unless the job was dispatched there again', async () => {
    const id = await leased();
    const again = await plane.run(endpoint); // it keeps the worker from being replaced
    expect((await worker.take('job_in_progress=1')).body.id).toBe(again);
    await plane.call('POST', `${endpoint}/cancel/${id}`);
    expect((await worker.stopOrders()).body).toEqual({ jobsToStop: [id] }); // it arrived before the job, so the worker ignored it
    await plane.sql(
      `update job_stops set created_at = created_at - interval '1 hour', told_at = told_at - interval '1 hour' where job_id = $1`,
      id,
    );
    await worker.ping(`job_id=${again}`);
    expect((await worker.stopOrders()).status).toBe(204);
    await plane.sql("update job_stops set obeyed_at = obeyed_at - interval '2 seconds' where job_id = $1", id);
    await worker.ping(`job_id=${again},${id}`);
    expect((await worker.stopOrders()).body).toEqual({ jobsToStop: [id] });

    await plane.sql(
      "insert into job_stops (worker_id, job_id, told_at) values ($1, $2, now() - interval '2 seconds')",
      worker.id,
      again,
    );
    await worker.ping(`job_id=${again}`);
    expect((await worker.stopOrders()).status).toBe(204);
    await plane.call('POST', `${endpoint}/cancel/${again}`);
  });
});

/** docs/interface/worker-api.md, "Draining and freezing" */
describe('drain', () => {
  test('answers held takes and polls with 204 at once, lets the running job finish, and delays further takes', async () => {
    const id = await plane.endpoint(1);
    const own = await plane.worker(id);
    const jobId = await leased(own, id);
    const [take, stop] = [timed(own.take('job_in_progress=1')), timed(own.stopOrders())];
    await own.ping(`job_id=${jobId}`);
    await plane.sql(
      "update workers set wanted = 'DRAIN', drain_at = now(), wanted_reason = 'test' where id = $1",
      own.id,
    );
    await plane.hint('worker', own.id);
    expect((await take).answer.status).toBe(204);
    expect((await stop).answer.status).toBe(204);
    const waiting = await plane.run(id);
    const first = await timed(own.take('job_in_progress=1'));
    const second = await timed(own.take('job_in_progress=1'));
    expect([first.answer.status, second.answer.status]).toEqual([204, 204]);
    expect(second.ms).toBeGreaterThanOrEqual(980);
    expect((await plane.status(id, waiting)).status).toBe('IN_QUEUE');
    expect((await own.done(jobId, '{"output":"done"}')).status).toBe(200);
    expect((await plane.status(id, jobId)).status).toBe('COMPLETED');
    const next = await plane.worker(id, [own.id]);
    expect((await next.take()).body.id).toBe(waiting);
  });

  test('when the server stops, held takes get 204, and held clients the job in its present state', async () => {
    const own = await QueuePlaneFixture.start({ takeHoldMs: 30_000 });
    try {
      const [id, other] = [await own.endpoint(1), await own.endpoint()];
      const held = await own.worker(id);
      const take = held.take();
      const [queued, another] = [await own.run(other), await own.run(other)];
      const clients = [
        own.call('GET', `${other}/status-sync/${queued}`),
        own.call('POST', `${other}/runsync`, { body: { input: 1 } }),
        own.call('GET', `${other}/stream/${another}?wait=60000`),
      ];
      await until(
        () => own.sql('select from jobs where waiter is not null'),
        (rows) => rows.length === 2,
      );
      const { ms } = await timed(own.restart()); // where nothing is answered early, 30 s
      expect((await take).status).toBe(204);
      for (const client of clients) expect((await client).body).toMatchObject({ status: 'IN_QUEUE' });
      expect(ms).toBeLessThan(25_000);
    } finally {
      await own.close();
    }
  });
});

/** docs/interface/worker-api.md, "Readiness" and "Pings" */
describe('readiness and health', () => {
  test('the first ping or take makes a worker ready; before that it is INITIALIZING', async () => {
    const id = await plane.endpoint(1);
    await until(
      () => plane.sql("select from workers where endpoint_id = $1 and phase = 'RUNNING'", id),
      (rows) => rows.length === 1,
    );
    const workers = async () => (await plane.call('GET', `${id}/health`)).body.workers;
    expect(await workers()).toMatchObject({ initializing: 1, ready: 0 });
    await plane.worker(id);
    expect(await workers()).toMatchObject({ initializing: 0, ready: 1, idle: 1 });
  });

  test('a worker that reports a failed health check is replaced, and the reason is kept', async () => {
    const id = await plane.endpoint(1);
    const own = await plane.worker(id);
    await own.ping('status=unhealthy&check=gpu&reason=no+device');
    await plane.worker(id, [own.id]);
    const [row] = await plane.sql('select wanted_reason from workers where id = $1', own.id);
    expect(row.wanted_reason).toBe('unhealthy: gpu: no device');
  });

  test('whose report cannot be stored as it is keeps no other worker from being seen', async () => {
    const [id, other] = [await plane.endpoint(1), await plane.endpoint(1)];
    const [own, neighbor] = [await plane.worker(id), await plane.worker(other)];
    await own.ping('status=unhealthy&check=%00&reason=a%00b%ED%A0%80');
    const seenAt = async () =>
      (await plane.sql('select seen_at from worker_activity where worker_id = $1', neighbor.id))[0]?.seen_at;
    const before = (await seenAt()) ?? new Date(0);
    await until(
      async () => {
        await neighbor.ping();
        return seenAt();
      },
      (now) => now > before,
    );
    const reason = 'select wanted_reason as reason from workers where id = $1';
    await until(
      () => plane.sql(reason, own.id),
      ([row]) => row.reason.startsWith('unhealthy: \ufffd: a\ufffdb'),
    );
  });

  test('one that tells how its program ended fails the jobs of that program alone, at once and with the reason', async () => {
    const id = await plane.endpoint(1);
    const own = await plane.worker(id);
    const [older, newer] = [await leased(own, id), await leased(own, id)];
    await plane.sql("update jobs set started_at = now() - interval '10 seconds' where id = $1", older);
    const ended = {
      reason: 'The program ended (exit code 3)',
      output: '{"level":"ERROR","message":"no\\u0000 luck"}\n',
      since: '5000',
    };
    const answer = await own.ping(`status=ended&${new URLSearchParams(ended)}`);
    expect(answer.body).toEqual({ jobs: [newer] });
    expect(await plane.status(id, newer)).toMatchObject({
      status: 'FAILED',
      error: 'The program ended (exit code 3):\nno luck',
    });
    expect(await plane.status(id, older)).toMatchObject({ status: 'IN_PROGRESS' });
    expect((await own.ping('status=ended&since=60000&until=5000')).body).toEqual({ jobs: [older] });
    expect((await own.ping('status=ended&since=60000')).body).toEqual({ jobs: [] });
  });

  test('one that leaves the output of its program to the log waits for the line with the reason, and quotes those before it', async () => {
    const id = await plane.endpoint(1);
    const own = await plane.worker(id);
    const job = await leased(own, id);
    const reason = 'The program ended (exit code 3)';
    const print = (...lines: string[]) =>
      plane.sql(
        `insert into log_lines (workload_id, endpoint_id, ts, source, line)
         select $1, $2, now(), 'container', l from unnest($3::text[]) as l`,
        own.id,
        id,
        lines,
      );
    await print('about to crash');
    const answer = own.ping(`status=ended&since=5000&log=true&${new URLSearchParams({ reason })}`);
    await print(`! ${reason}`, '! Its job has failed with it: it runs again');
    expect((await answer).body).toEqual({ jobs: [job] });
    expect(await plane.status(id, job)).toMatchObject({ status: 'FAILED', error: `${reason}:\nabout to crash` });
  });

  test('that names jobs no job can have is answered as ever', async () => {
    const own = await plane.worker(await plane.endpoint(1));
    expect((await own.ping('job_id=%00,a%00b,x&runpod_version=1')).status).toBe(200);
  });
});

/** docs/interface/worker-api.md, "Undelivered jobs" */
describe('a job that never reached its worker comes back', () => {
  const lose = async (own: FakeWorker, id: EndpointId) => {
    const jobId = await plane.run(id);
    await plane.sql(
      "update jobs set status = 'IN_PROGRESS', worker_id = $2, attempt = 1, started_at = now() - interval '20 s' where id = $1",
      jobId,
      own.id,
    );
    return jobId;
  };

  test('when a worker unknown to this process reports that it has none', async () => {
    const id = await plane.endpoint(1);
    const own = await plane.worker(id);
    const jobId = await lose(own, id);
    const answers = await Promise.all([own.take(), own.take()]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 204]);
    expect(answers.find(({ status }) => status === 200)!.body.id).toBe(jobId);
    expect((await plane.status(id, jobId)).retries).toBeUndefined();
    expect((await own.done(jobId, '{"output":1}')).status).toBe(200);
    expect((await plane.status(id, jobId)).status).toBe('COMPLETED');
  });

  test('when two pings in a row do not name it', async () => {
    const id = await plane.endpoint(1);
    const own = await plane.worker(id);
    expect((await own.take()).status).toBe(204);
    const jobId = await lose(own, id);
    const other = await plane.run(id);
    expect((await own.take('job_in_progress=1')).body.id).toBe(other);
    await own.ping(`job_id=${other}&runpod_version=1`);
    expect((await plane.status(id, jobId)).status).toBe('IN_PROGRESS');
    await own.ping(`job_id=${other}&runpod_version=1`);
    expect((await plane.status(id, jobId)).status).toBe('IN_QUEUE');
    expect((await plane.status(id, other)).status).toBe('IN_PROGRESS');
  });

  test('but not when a ping in between names it, nor when pings never name jobs', async () => {
    const id = await plane.endpoint(1);
    const own = await plane.worker(id);
    await own.take();
    const jobId = await lose(own, id);
    await own.ping('runpod_version=1');
    await own.ping(`job_id=${jobId}&runpod_version=1`);
    await own.ping('runpod_version=1');
    for (let n = 0; n < 3; n++) await own.ping('nothing=1');
    expect((await plane.status(id, jobId)).status).toBe('IN_PROGRESS');
  });
});
