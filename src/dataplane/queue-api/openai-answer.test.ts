import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { OpenAiAnswer, WAITING_MS } from './openai-answer.ts';

beforeEach(() => vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] }));
afterEach(() => vi.useRealTimers());

const JOB = { id: 'j', endpointId: 'e', delayTimeMs: 0, executionTimeMs: 0, workerId: null, retries: 0 };
const ended = (more: object) => ({ ...JOB, status: 'COMPLETED', output: null, error: null, ...more }) as never;

/** An answer to a real request, and what its client reads. */
async function answerTo(route: string): Promise<{ answer: OpenAiAnswer; response: Promise<Response> }> {
  const { promise, resolve } = Promise.withResolvers<ServerResponse>();
  const server = createServer((_req, res) => resolve(res));
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  onTestFinished(() => void server.close());
  const response = fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  return { answer: new OpenAiAnswer(await promise, route), response };
}

async function read(response: Promise<Response>): Promise<[number, string]> {
  const answer = await response;
  return [answer.status, await answer.text()];
}

test('a stream that waits repeats its comment until the first chunk', async () => {
  const { answer, response } = await answerTo('/v1/chat/completions');
  answer.wait();
  vi.advanceTimersByTime(2 * WAITING_MS);
  answer.writeChunk('"data: 1\\n\\n"');
  vi.advanceTimersByTime(10 * WAITING_MS);
  answer.finish(ended({ output: '["data: 1"]' }));
  expect(await read(response)).toEqual([200, `${': podyard.waiting\n\n'.repeat(3)}data: 1\n\n`]);
  expect(vi.getTimerCount()).toBe(0);
});

test.each([
  [
    '/v1/chat/completions',
    'data: {"error":{"message":"m","type":"server_error","code":"worker_error","param":null}}\n\n',
  ],
  [
    '/v1/messages',
    'event: error\ndata: {"type":"error","error":{"type":"api_error","message":"m","code":"worker_error","param":null}}\n\n',
  ],
  [
    '/v1/responses',
    'event: error\ndata: {"message":"m","type":"error","code":"worker_error","param":null,' +
      '"error":{"message":"m","type":"server_error","code":"worker_error","param":null}}\n\n',
  ],
])('after the first byte an error of %s is its last event', async (route, event) => {
  const { answer, response } = await answerTo(route);
  answer.wait();
  answer.finish(ended({ status: 'FAILED', error: 'm' }));
  expect(answer.isDone).toBe(true);
  expect(await read(response)).toEqual([200, `: podyard.waiting\n\n${event}`]);
});

test('a worker that does not stream, after a wait, has its output sent as the only event', async () => {
  const { answer, response } = await answerTo('/v1/chat/completions');
  answer.wait();
  answer.finish(ended({ output: '[{"n":12345678901234567890}]' }));
  expect((await read(response))[1]).toBe(': podyard.waiting\n\ndata: {"n":12345678901234567890}\n\ndata: [DONE]\n\n');
});

test.each(['{"error":{"message":"too long","code":400}}', '[{"error":{"message":"too long","code":400}}]'])(
  'the first chunk of a stream that waits may still be an error: %s',
  async (chunk) => {
    const { answer, response } = await answerTo('/v1/chat/completions');
    answer.wait();
    answer.writeChunk(chunk);
    expect(answer.isDone).toBe(true);
    expect((await read(response))[1]).toContain('data: {"error":{"message":"too long"');
  },
);

test('a client that leaves stops the comments', async () => {
  const { answer, response } = await answerTo('/v1/chat/completions');
  answer.wait();
  await (await response).body!.cancel();
  await vi.waitUntil(() => vi.getTimerCount() === 0);
  expect(answer.isDone).toBe(false);
});
