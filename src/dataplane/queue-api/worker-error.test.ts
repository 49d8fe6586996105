import { describe, expect, test } from 'vitest';
import { readErrorOutput, readJobError } from './worker-error.ts';

describe('an output or chunk of a worker is an error with a status', () => {
  const cases: [string, unknown, object][] = [
    [
      'an error object as older vLLM sends it',
      { object: 'error', message: 'no such model', type: 'NotFoundError', param: 'model', code: 404 },
      { status: 404, message: 'no such model', type: 'NotFoundError', param: 'model', code: 404 },
    ],
    ['one inside `error`', { error: { message: 'too long', type: 'BadRequestError', code: 400 } }, { status: 400 }],
    ['a status in digits', { error: { message: 'slow down', code: '429' } }, { status: 429, code: '429' }],
    ['a status beside the error', { error: { message: 'gone' }, status_code: 410 }, { status: 410, message: 'gone' }],
    ['a type alone', { error: { message: 'no', type: 'permission_error' } }, { status: 403 }],
    [
      'an Anthropic error',
      { type: 'error', error: { type: 'overloaded_error', message: 'busy' } },
      { status: 503, type: 'overloaded_error', message: 'busy' },
    ],
    ['a text that names the status', { error: 'HTTP 422: bad temperature' }, { status: 422 }],
    [
      'a text without a status',
      { error: 'out of memory' },
      { status: 500, message: 'out of memory', code: 'worker_error' },
    ],
    ['a route the worker does not have', { object: 'error', message: 'Invalid route', code: 400 }, { status: 404 }],
    ['the same as a text', { error: 'Unsupported route: /v1/rerank' }, { status: 404 }],
    [
      'an event whose data is an error',
      'data: {"error":{"message":"m","code":400}}\n\n',
      { status: 400, message: 'm' },
    ],
    ['JSON text', '{"error":{"message":"m","code":400}}', { status: 400, message: 'm' }],
    [
      'the text of a Python dict',
      "{'error': {'message': 'm', 'code': 404, 'param': None}}",
      { status: 404, message: 'm' },
    ],
    [
      'a status in the message of a 500',
      { error: { message: 'vLLM returned HTTP 404: x', code: 500 } },
      { status: 404 },
    ],
    ["FastAPI's words for an unknown route", { detail: 'Not Found' }, { status: 404, message: 'Not Found' }],
    ['the same as text', '{"detail":"Method Not Allowed"}', { status: 405 }],
    ['a request that failed behind it', { error: 'Request to /v1/x failed with status 404' }, { status: 404 }],
    ['a route it calls a 400', { error: 'ValueError: Route /v1/rerank not supported' }, { status: 404 }],
  ];
  test.each(cases)('%s', (_, output, error) => {
    expect(readErrorOutput(output)).toMatchObject(error);
  });
});

test.each([
  [{ object: 'response', error: { message: 'failed later' } }],
  [{ object: 'chat.completion', choices: [], error: null }],
  [{ choices: [], error: { message: 'a finish reason' } }],
  [{ error: null }],
  ['data: {"choices":[{"delta":{"content":"an \\"error\\""}}]}\n\n'],
  ['"error"'],
  [{ detail: 'a part of an answer' }],
  ['data: {"error":\n\n'],
  [null],
  [[{ error: 'in a list' }]],
])('%j is an answer', (output) => {
  expect(readErrorOutput(output)).toBeNull();
});

describe('a failed job is an error', () => {
  const cases: [string, string | null, object][] = [
    ['FAILED', 'HTTP 404: model not found', { status: 404, message: 'HTTP 404: model not found' }],
    ['FAILED', 'RuntimeError: HTTP 429 - try later', { status: 429 }],
    [
      'FAILED',
      'HTTP 400: {"error":{"message":"too long","type":"BadRequestError","code":400}}',
      { message: 'too long' },
    ],
    ['FAILED', '{"message":"no","code":403}', { status: 403, message: 'no' }],
    [
      'FAILED',
      '{"error_type":"<class ValueError>","error_message":"HTTP 400: bad","error_traceback":"secret"}',
      { status: 400, message: 'HTTP 400: bad' },
    ],
    [
      'FAILED',
      "{'message': 'The model `x` does not exist.', 'type': 'NotFoundError', 'param': 'model', 'code': 404}",
      { status: 404, message: 'The model `x` does not exist.', type: 'NotFoundError', param: 'model', code: 404 },
    ],
    ['FAILED', 'vLLM returned HTTP 404: {"detail":"Not Found"}', { status: 404 }],
    ['FAILED', "{'error': 'vLLM returned HTTP 422: bad temperature'}", { status: 422 }],
    [
      'FAILED',
      "{'message': 'vLLM returned HTTP 404: {\"error\":{\"message\":\"gone\"}}', 'type': 'InternalServerError', 'code': 500}",
      { status: 404, message: 'gone' },
    ],
    [
      'FAILED',
      `handler: vLLM returned HTTP 404: {'error': {'message': "it's gone", 'code': 404}} \ntraceback: Traceback secret`,
      { status: 404, message: "it's gone" },
    ],
    [
      'FAILED',
      'handler: Unknown route: /v1/rerank \ntraceback: Traceback secret',
      { message: 'Unknown route: /v1/rerank' },
    ],
    ['FAILED', "Error code: 401 - {'error': {'message': 'wrong key'}}", { status: 401, message: 'wrong key' }],
    ['FAILED', "{'error': 'out of memory'}", { status: 500, code: 'worker_error' }],
    ['FAILED', 'HTTPSConnectionPool: 404 pools', { status: 500 }],
    ['FAILED', 'took 404 tokens', { status: 500, message: 'took 404 tokens' }],
    ['FAILED', 'executionTimeout exceeded', { status: 504 }],
    ['FAILED', null, { status: 500 }],
    ['TIMED_OUT', null, { status: 504 }],
    ['CANCELLED', null, { status: 500, code: 'job_cancelled' }],
  ];
  test.each(cases)('%s %s', (status, error, expected) => {
    expect(readJobError({ status: status as 'FAILED', error })).toMatchObject(expected);
  });
});

test('an error nested without end, or huge, is read in milliseconds', () => {
  const deep = `${'{"error":'.repeat(5_000)}"HTTP 404"${'}'.repeat(5_000)}`;
  const wide = `HTTP 404: ${"{'error': ".repeat(6_000)}`;
  const start = performance.now();
  for (const error of [deep, wide, 'HTTP '.repeat(200_000)]) readJobError({ status: 'FAILED', error });
  expect(performance.now() - start).toBeLessThan(1_000);
});
