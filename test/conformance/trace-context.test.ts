/** docs/interface/queue.md, "Trace context", after W3C Trace Context: what a client sends goes with its job. */
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { QueuePlaneFixture } from '../queue-plane.ts';

const TRACE = {
  traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
  tracestate: 'vendor=a,other="b"',
};

let plane: QueuePlaneFixture;
beforeAll(async () => {
  plane = await QueuePlaneFixture.start({ takeHoldMs: 1_000 }, true);
});
afterAll(() => plane.close());

test('a trace context reaches the worker beside the input, also in a batch and after a retry, and reaches the webhook', async () => {
  const got = Promise.withResolvers<IncomingHttpHeaders>();
  const receiver = createServer((req, res) => {
    got.resolve(req.headers);
    req.resume();
    res.end();
  });
  await once(receiver.listen(0, '127.0.0.1'), 'listening');
  try {
    const id = await plane.endpoint(1);
    const body = {
      input: { a: 1 },
      s3Config: { bucketName: 'b' },
      webhook: `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`,
    };
    const { body: job } = await plane.call('POST', `${id}/run`, { body, headers: TRACE });
    const worker = await plane.worker(id);
    const given = { id: job.id, input: { a: 1 }, s3Config: { bucketName: 'b' }, ...TRACE };
    expect((await worker.takeBatch(2)).body).toEqual([given]);
    await worker.done(job.id, '{"error":"no"}');
    expect(await got.promise).toMatchObject(TRACE);
    await plane.call('POST', `${id}/retry/${job.id}`);
    expect((await worker.take()).body).toEqual(given);
    await worker.done(job.id, '{"output":1}');
    expect((await plane.call('GET', `${id}/status/${job.id}`)).text).not.toContain('trace');
  } finally {
    receiver.close();
    receiver.closeAllConnections();
  }
});

test('a job dispatched directly to a waiting worker carries its context too', async () => {
  const id = await plane.endpoint(1);
  const worker = await plane.worker(id);
  const taken = worker.take();
  const answer = plane.call('POST', `${id}/runsync`, {
    body: { input: 1 },
    headers: { traceparent: TRACE.traceparent },
  });
  const { body: job } = await taken;
  expect(job).toEqual({ id: job.id, input: 1, traceparent: TRACE.traceparent });
  await worker.done(job.id, '{"output":2}');
  expect((await answer).body).toMatchObject({ status: 'COMPLETED', output: 2 });
});

test('a missing or invalid trace context does not affect the job', async () => {
  const id = await plane.endpoint(1);
  const worker = await plane.worker(id);
  for (const headers of [{}, { traceparent: 'x' }, { tracestate: 'a=b' }, { traceparent: `${TRACE.traceparent}"` }]) {
    const { body: job } = await plane.call('POST', `${id}/run`, { body: { input: null }, headers });
    expect((await worker.take()).text).toBe(`{"id":"${job.id}","input":null}`);
    await worker.done(job.id, '{"output":null}');
  }
});
