import { expect, test } from 'vitest';
import { type HttpCall, sendHttp } from './http-call.ts';

async function send(call: HttpCall) {
  let sent: { path: string; init: RequestInit } | undefined;
  const result = await sendHttp(
    async (path, init) => {
      sent = { path, init };
      return new Response('hello', { status: 201, headers: { 'x-runpod-worker-id': 'w1' } });
    },
    'e1',
    call,
  );
  return { ...sent!, result };
}

test("a call uses the endpoint's path and returns the response with its worker", async () => {
  const { path, init, result } = await send({ method: 'GET', path: '/a?b=1', body: '' });
  expect([path, init]).toEqual(['/v2/e1/lb/a?b=1', { method: 'GET' }]);
  expect(result).toEqual({ status: 201, text: 'hello', ms: expect.any(Number), workerId: 'w1' });
});

test('a body is sent as JSON', async () => {
  const { init } = await send({ method: 'POST', path: '/', body: '{"a":1}' });
  expect(init).toEqual({ method: 'POST', body: '{"a":1}', headers: { 'content-type': 'application/json' } });
});

test.each(['GET', 'DELETE'])('%s sends no body, even if one was entered for another method', async (method) => {
  expect((await send({ method, path: '/', body: '{}' })).init).toEqual({ method });
});

test('an empty body is not sent', async () => {
  expect((await send({ method: 'POST', path: '/', body: '' })).init).toEqual({ method: 'POST' });
});
