import { expect, test } from 'vitest';
import { Failure } from '../core/errors.ts';
import { openAiRoute, renderOpenAiError } from './openai-error.ts';
import { rawProblem } from './problem.ts';

test.each([
  ['/openai/v1/models', '/v1/models'],
  ['/openai/v1/messages?beta=true', '/v1/messages'],
  ['/v2/abc/openai/v1/chat', '/v1/chat'],
  ['/2026-08/v2/abc/openai/v1/chat', '/v1/chat'],
  ['/v2/abc/openai', ''],
  ['/v2/abc/openaix', null],
  ['/v2/abc/run?/openai/', null],
  ['/v2/abc/lb/openai/v1', null],
  ['/openaix/v1', null],
  ['', null],
])('the route of %j is %j', (url, route) => {
  expect(openAiRoute(url)).toBe(route);
});

test.each([
  [421, 'invalid_request_error', null],
  [409, 'invalid_request_error', null],
  [502, 'server_error', 'internal_error'],
  [503, 'server_error', 'service_unavailable'],
])('status %i has the type %s and the code %s', (status, type, code) => {
  const rendered = JSON.parse(renderOpenAiError('/v1/x', { status, message: 'm' }));
  expect(rendered).toEqual({ error: { message: 'm', type, code, param: null } });
});

test("Anthropic's types replace those of others only", () => {
  const typeOf = (type?: string) =>
    JSON.parse(renderOpenAiError('/v1/messages', { status: 429, message: 'm', ...(type ? { type } : {}) })).error.type;
  expect([typeOf(), typeOf('RateLimitError'), typeOf('billing_error')]).toEqual([
    ...['rate_limit_error', 'rate_limit_error', 'billing_error'],
  ]);
});

test('a request that comes too slowly is refused in the shape of its route', () => {
  const [head, body] = rawProblem(new Failure('requestTimeout', 'Too slow.'), '/openai/v1/chat').split('\r\n\r\n');
  expect(head).toMatch(/^HTTP\/1\.1 408 .*Content-Type: application\/json\r\n/s);
  expect(JSON.parse(body!)).toMatchObject({ error: { message: 'Too slow.', code: 'request_timeout' } });
});
