/** docs/interface/queue.md, "OpenAI routes" and "Errors of OpenAI routes": OpenAI-style calls are turned into jobs. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { EndpointId } from '../../src/core/ids.ts';
import type { FakeWorker } from '../fake-worker.ts';
import { type CallOptions, QueuePlaneFixture } from '../queue-plane.ts';

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

test('a GET carries the route and an empty input, which workers of some makes read without asking', async () => {
  const answer = plane.call('GET', `${endpoint}/openai/v1/models`);
  const job = (await worker.take()).body;
  expect(job.input).toEqual({ openai_route: '/v1/models', openai_input: {} });
  await worker.done(job.id, '{"output":{"object":"list","data":[]}}');
  expect(await answer).toMatchObject({ status: 200, body: { object: 'list', data: [] } });
});

test.each([
  ['JSON as text', '"{\\"n\\": 12345678901234567890}"', 'application/json', '{"n": 12345678901234567890}'],
  ['one such item', '["{\\"n\\":1}\\n"]', 'application/json', '{"n":1}'],
  ['lines of JSON', '["{", "\\"n\\": 1", "}"]', 'application/json', '{"n": 1}'],
  ['an event stream', '["data: 1\\n\\n", "data: [DONE]\\n\\n"]', 'text/event-stream', 'data: 1\n\ndata: [DONE]\n\n'],
  ['other text', '"a transcript {with} braces"', 'text/plain; charset=utf-8', 'a transcript {with} braces'],
  ['texts that are no answer together', '["a","b"]', 'application/json', '["a","b"]'],
])('without a stream, %s is answered as what it is', async (_, output, type, text) => {
  const answer = chat({});
  await worker.work(`{"output":${output}}`);
  const { status, headers, text: got } = await answer;
  expect([status, headers.get('content-type'), got]).toEqual([200, type, text]);
});

test('in a stream, JSON as text becomes an event where one may begin, and pieces of events stay', async () => {
  const answer = chat({ stream: true });
  const job = (await worker.take()).body;
  for (const output of ['{"n":\n1}', 'data: ', '{"n":2}', '\n\n', '{"n":3}']) {
    await worker.chunk(job.id, JSON.stringify({ output }));
  }
  await worker.done(job.id, '{"output":[]}', true);
  expect((await answer).text).toBe('data: {"n": 1}\n\ndata: {"n":2}\n\ndata: {"n":3}\n\n');
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

test("a failed job is a 500 with an error object, and a worker's own error keeps its status", async () => {
  const failed = chat({});
  await worker.work('{"error":"out of memory"}');
  const error = { message: 'out of memory', type: 'server_error', code: 'worker_error', param: null };
  expect(await failed).toMatchObject({ status: 500, body: { error } });
  const refused = chat({});
  await worker.work('{"output":[{"object":"error","code":400,"message":"no such model","type":"BadRequestError"}]}');
  expect((await refused).status).toBe(400);
  expect((await refused).body).toEqual({
    error: { message: 'no such model', type: 'BadRequestError', code: 400, param: null },
  });
});

test.each([
  ['a job that failed', '{"error":"HTTP 429: slow down"}', 429],
  ['an output', '{"output":{"error":{"message":"no","type":"NotFoundError","code":404}}}', 404],
  [
    "the text of a Python dict, of which the status is in the server's words",
    JSON.stringify({
      error: `{'message': 'vLLM returned HTTP 404: {"detail":"Not Found"}', 'type': 'InternalServerError', 'code': 500}`,
    }),
    404,
  ],
  ['an exception of a generator', '{"error":"handler: vLLM returned HTTP 422: no \\ntraceback: Traceback"}', 422],
  ['JSON as text', '{"output":["{\\"detail\\":\\"Not Found\\"}"]}', 404],
  [
    'a route that the worker does not have',
    '{"output":[{"object":"error","code":400,"message":"Invalid route"}]}',
    404,
  ],
])('while nothing is sent, the error of %s has its status, streaming or not', async (_, report, status) => {
  for (const stream of [false, true]) {
    const answer = chat({ stream });
    await worker.work(report);
    expect(await answer).toMatchObject({ status, body: { error: { message: expect.any(String) } } });
  }
});

test('the first chunk of a stream may be an error with a status; a later one is an event', async () => {
  const refused = chat({ stream: true });
  const first = (await worker.take()).body;
  await worker.chunk(first.id, JSON.stringify({ output: { error: { message: 'too long', code: 400 } } }));
  expect(await refused).toMatchObject({ status: 400, body: { error: { message: 'too long', code: 400 } } });
  await worker.done(first.id, '{"output":[]}', true);

  const cut = chat({ stream: true });
  const second = (await worker.take()).body;
  await worker.chunk(second.id, JSON.stringify({ output: 'data: {"n":1}\n\n' }));
  await worker.done(second.id, '{"error":"HTTP 400: lost its place"}', true);
  const { status, text } = await cut;
  expect(status).toBe(200);
  const [, event] = text.split('\n\n');
  expect(JSON.parse(event!.slice('data: '.length))).toMatchObject({ error: { message: 'HTTP 400: lost its place' } });
});

test('a list of chunks becomes one event each, named where clients need names', async () => {
  const answer = plane.call('POST', `${endpoint}/openai/v1/messages?beta=true`, { body: { stream: true } });
  const job = (await worker.take()).body;
  expect(job.input.openai_route).toBe('/v1/messages');
  await worker.chunk(job.id, '{"output":[{"type":"message_start","n":1},{"type":"ping"}]}');
  await worker.done(job.id, '{"output":[]}', true);
  expect((await answer).text).toBe(
    'event: message_start\ndata: {"type":"message_start","n":1}\n\nevent: ping\ndata: {"type":"ping"}\n\n',
  );
});

test.each([
  ['no key', { authorization: null }, 401, 'invalid_api_key'],
  ['a wrong key', { authorization: 'Bearer nonsense' }, 401, 'invalid_api_key'],
  ['a body that is not JSON', { body: '{' }, 400, null],
] as [string, CallOptions, number, string | null][])('%s is an error object', async (_, options, status, code) => {
  const answer = await plane.call('POST', `${endpoint}/openai/v1/completions`, { body: {}, ...options });
  expect(answer.headers.get('content-type')).toBe('application/json');
  expect(answer.status).toBe(status);
  expect(answer.body).toEqual({
    error: { message: expect.any(String), type: 'invalid_request_error', code, param: null },
  });
});

test('so are other refusals of the server: methods, paths, permissions, types, sizes and full queues', async () => {
  const call = async (method: string, path: string, options: CallOptions = {}) => {
    const { status, body } = await plane.call(method, path, options);
    expect(Object.keys(body)).toEqual(['error']);
    expect(Object.keys(body.error)).toEqual(['message', 'type', 'code', 'param']);
    return [status, body.error.code];
  };
  const reader = `Bearer ${await plane.keyFor(plane.userId, 'read-only')}`;
  expect(await call('DELETE', `${endpoint}/openai/v1/models`)).toEqual([405, 'method_not_allowed']);
  expect(await call('POST', `${endpoint}/openai`)).toEqual([404, 'not_found']);
  expect(await call('POST', `../2026-08/v2/nowhere/openai/v1/completions`, { body: {} })).toEqual([404, 'not_found']);
  expect(await call('GET', '../2026-08/openai/v1/nowhere')).toEqual([405, 'method_not_allowed']);
  expect(await call('POST', 'nosuchendpoint/openai/v1/completions', { body: {} })).toEqual([404, 'not_found']);
  const options = { body: {}, authorization: reader };
  expect(await call('POST', `${endpoint}/openai/v1/completions`, options)).toEqual([403, 'permission_denied']);
  const large = { body: Buffer.alloc(20 * 2 ** 20 + 1, ' ') };
  expect(await call('POST', `${endpoint}/openai/v1/completions`, large)).toEqual([413, 'request_too_large']);
  const balanced = await plane.endpoint(0, {
    type: 'LOAD_BALANCING',
    scaling: { type: 'REQUEST_COUNT', value: 1, idleTimeoutSeconds: 5 },
  });
  expect(await call('POST', `${balanced}/openai/v1/completions`, { body: {} })).toEqual([400, null]);
  const full = await plane.endpoint(0);
  await plane.sql("insert into endpoint_counters (endpoint_id, lane, queued) values ($1, 'test', 60)", full);
  expect(await call('POST', `${full}/openai/v1/completions`, { body: {} })).toEqual([429, 'rate_limit_exceeded']);
});

test("clients of /v1/messages get Anthropic's errors, and may send the key in x-api-key", async () => {
  const path = `${endpoint}/openai/v1/messages`;
  const refused = await plane.call('POST', path, { authorization: null, body: {} });
  expect(refused).toMatchObject({ status: 401, body: { type: 'error', error: { type: 'authentication_error' } } });
  const headers = { 'x-api-key': 'pyk_test-admin' };
  const answer = plane.call('POST', path, { authorization: null, headers, body: {} });
  await worker.work('{"output":{"type":"error","error":{"type":"overloaded_error","message":"busy"}}}');
  expect(await answer).toMatchObject({ status: 503, body: { error: { type: 'overloaded_error', message: 'busy' } } });
  expect(await plane.call('POST', `${endpoint}/run`, { authorization: null, headers, body: {} })).toMatchObject({
    status: 401,
  });
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

test('a server that stops ends a call whose job waits with a 503, and cancels the job', async () => {
  const idle = await plane.endpoint(0);
  const waiting = plane.call('POST', `${idle}/openai/v1/completions`, { body: {} });
  await expect.poll(() => plane.sql('select from jobs where endpoint_id = $1', idle)).toHaveLength(1);
  await plane.restart();
  expect(await waiting).toMatchObject({ status: 503, body: { error: { code: 'service_unavailable' } } });
  expect(await plane.sql('select status from finished_jobs where endpoint_id = $1', idle)).toEqual([
    { status: 'CANCELLED' },
  ]);
});
