import { expect, test } from 'vitest';
import { type HttpCall, type HttpResult, headerFault, sendHttp, submitJob } from './http-call.ts';

async function send(call: Partial<HttpCall>) {
  let sent: { path: string; init: RequestInit } | undefined;
  const result = await sendHttp(
    async (path, init) => {
      sent = { path, init };
      return new Response('hello', { status: 201, headers: { 'x-runpod-worker-id': 'w1' } });
    },
    'e1',
    { method: 'GET', path: '/', headers: [], body: '', ...call },
  );
  return { ...sent!, result };
}

test("a call uses the endpoint's path and returns the response with its worker", async () => {
  const { path, init, result } = await send({ path: '/a?b=1' });
  expect([path, init]).toEqual(['/v2/e1/lb/a?b=1', { method: 'GET' }]);
  expect(result).toMatchObject({
    status: 201,
    text: 'hello',
    ms: expect.any(Number),
    workerId: 'w1',
    isPartial: false,
  });
  expect(result.headers).toContainEqual(['x-runpod-worker-id', 'w1']);
});

test('a body is sent as JSON, unless a header says otherwise', async () => {
  const { init } = await send({ method: 'POST', body: '{"a":1}' });
  expect(init).toEqual({ method: 'POST', body: '{"a":1}', headers: { 'content-type': 'application/json' } });
  const other = await send({ method: 'POST', body: 'a', headers: [{ name: 'Content-Type', value: 'text/plain' }] });
  expect(other.init.headers).toEqual({ 'content-type': 'text/plain' });
});

test.each(['GET', 'DELETE', 'HEAD'])('%s sends no body, even if one was entered for another method', async (method) => {
  expect((await send({ method, body: '{}' })).init).toEqual({ method });
});

test('an empty body is not sent, nor are nameless headers and keys', async () => {
  const headers = [
    { name: ' ', value: 'x' },
    { name: 'Authorization', value: 'Bearer other' },
  ];
  expect((await send({ method: 'POST', headers })).init).toEqual({ method: 'POST' });
});

test.each([
  ['X-Seed', '1', null],
  ['', '', null],
  ['', 'x', 'Name is required'],
  ['a b', '', 'Not a header name'],
  ['authorization', 'x', 'Your key is sent in it'],
  ['a', 'b\nc', 'Not a header value'],
  ['a', '€', 'Not a header value'],
])('the header %s: %s', (name, value, fault) => expect(headerFault({ name, value })).toBe(fault));

/** A response whose pieces come one by one; `aborts` ends it as a cancelled fetch does. */
function streaming(pieces: string[], { aborts }: { aborts?: AbortController } = {}) {
  return async () =>
    new Response(
      new ReadableStream({
        pull(controller) {
          const piece = pieces.shift();
          if (piece !== undefined) controller.enqueue(new TextEncoder().encode(piece));
          else if (!aborts) controller.close();
          else {
            aborts.abort();
            controller.error(aborts.signal.reason);
          }
        },
      }),
    );
}

const CALL: HttpCall = { method: 'GET', path: '/', headers: [], body: '' };

test('a stream is shown as it comes', async () => {
  const seen: HttpResult[] = [];
  const onProgress = (result: HttpResult) => void seen.push(result);
  const result = await sendHttp(streaming(['a', 'b', 'c']), 'e1', CALL, { onProgress });
  expect(seen.map(({ text, isPartial }) => [text, isPartial])).toEqual([
    ['a', true],
    ['ab', true],
    ['abc', true],
  ]);
  expect(result).toMatchObject({ text: 'abc', isPartial: false });
});

test('what had come when it was cancelled stays', async () => {
  const aborts = new AbortController();
  const result = await sendHttp(streaming(['a', 'b'], { aborts }), 'e1', CALL, { signal: aborts.signal });
  expect(result).toMatchObject({ text: 'ab', isPartial: true });
});

test('a connection that breaks is an error', async () => {
  const broken = async () =>
    new Response(new ReadableStream({ pull: (controller) => controller.error(new Error('cut')) }));
  await expect(sendHttp(broken, 'e1', CALL)).rejects.toThrow('cut');
});

test('the input is sent as entered, once', async () => {
  const calls: { path: string; body: unknown }[] = [];
  const send = async (path: string, init?: RequestInit) => {
    calls.push({ path, body: init?.body });
    return Response.json({ id: 'j1', status: 'IN_QUEUE' });
  };
  expect(await submitJob(send, 'e1', '{"big": 12345678901234567890}')).toBe('j1');
  expect(calls).toEqual([{ path: '/v2/e1/run', body: '{"input":{"big": 12345678901234567890}}' }]);
});

test('a refusal is thrown', async () => {
  const failing = () => Promise.reject(new Error('the endpoint does not exist'));
  await expect(submitJob(failing, 'e1', '{}')).rejects.toThrow('the endpoint does not exist');
});
