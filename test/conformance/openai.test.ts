/** docs/interface/queue.md, "OpenAI routes": OpenAI-style calls are turned into jobs. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { EndpointId } from '../../src/core/ids.ts';
import type { FakeWorker } from '../fake-worker.ts';
import { QueuePlaneFixture } from '../queue-plane.ts';

let plane: QueuePlaneFixture;
let endpoint: EndpointId;
let worker: FakeWorker;

beforeAll(async () => {
  plane = await QueuePlaneFixture.start({ takeHoldMs: 5_000 });
  endpoint = await plane.endpoint(1);
  worker = await plane.worker(endpoint);
});
afterAll(() => plane.close());

const chat = (body: object) => plane.call('POST', `${endpoint}/openai/v1/chat/completions`, { body });

test('the route and the body reach the worker; a list with one answer is unwrapped and sent as JSON', async () => {
  const answer = chat({ model: 'm', seed: 1 });
  const job = (await worker.take()).body;
  expect(job.input).toEqual({ openai_route: '/v1/chat/completions', openai_input: { model: 'm', seed: 1 } });
  await worker.done(job.id, '{"output":[{"object":"chat.completion","choices":[]}]}');
  expect(await answer).toMatchObject({ status: 200, body: { object: 'chat.completion', choices: [] } });
});

test('a GET carries only the route', async () => {
  const answer = plane.call('GET', `${endpoint}/openai/v1/models`);
  const job = (await worker.take()).body;
  expect(job.input).toEqual({ openai_route: '/v1/models' });
  await worker.done(job.id, '{"output":{"object":"list","data":[]}}');
  expect(await answer).toMatchObject({ status: 200, body: { object: 'list', data: [] } });
});

test('with stream: true the text chunks of the worker are relayed unchanged as server-sent events', async () => {
  const answer = chat({ stream: true });
  const job = (await worker.take()).body;
  await worker.chunk(job.id, JSON.stringify({ output: 'data: {"n":1}\n\n' }));
  await worker.chunk(job.id, JSON.stringify({ output: 'data: [DONE]\n\n' }));
  await worker.done(job.id, '{"output":[]}', true);
  const { status, headers, text } = await answer;
  expect([status, headers.get('content-type')]).toEqual([200, 'text/event-stream']);
  expect(text).toBe('data: {"n":1}\n\ndata: [DONE]\n\n');
});

test("a failed job is a 500 with an error object, and a worker's own error body keeps its status", async () => {
  const failed = chat({});
  await worker.work('{"error":"out of memory"}');
  expect(await failed).toMatchObject({ status: 500, body: { error: { message: 'out of memory' } } });
  const refused = chat({});
  await worker.work('{"output":[{"object":"error","code":400,"message":"no such model"}]}');
  expect(await refused).toMatchObject({ status: 400, body: { message: 'no such model' } });
});

test('a client that disconnects cancels its job', async () => {
  const leaving = new AbortController();
  const answer = plane.call('POST', `${endpoint}/openai/v1/completions`, { body: {}, signal: leaving.signal });
  const job = (await worker.take()).body;
  const orders = worker.stopOrders();
  leaving.abort();
  await expect(answer).rejects.toThrow();
  expect((await orders).body).toEqual({ jobsToStop: [job.id] });
  expect(await plane.status(endpoint, job.id)).toMatchObject({ status: 'CANCELLED' });
});

test('a body that is not JSON is rejected without creating a job', async () => {
  const answer = await plane.call('POST', `${endpoint}/openai/v1/completions`, { body: '{' });
  expect(answer.status).toBe(400);
});
