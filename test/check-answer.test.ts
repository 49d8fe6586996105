import { expect, test } from 'vitest';
import { type Answer, checkAnswer } from './check-answer.ts';

const PROBLEM = { title: 'Not Found', status: 404, detail: 'Endpoint not found' };
const missing: Answer = {
  method: 'GET',
  url: '/v2/serverless/x',
  status: 404,
  headers: { 'x-request-id': 'r1', 'content-type': 'application/problem+json' },
  body: JSON.stringify(PROBLEM),
};
const account: Answer = {
  ...missing,
  url: '/v2/account',
  status: 200,
  headers: { 'x-request-id': 'r1', 'content-type': 'application/json; charset=utf-8' },
  body: JSON.stringify({ id: 'u1', name: 'alice', email: null, role: 'USER', createdAt: '2026-01-01T00:00:00.000Z' }),
};

test('an answer that matches the description passes', () => {
  checkAnswer(missing);
  checkAnswer(account);
  checkAnswer({ ...missing, method: 'HEAD', body: '' });
  checkAnswer({ ...missing, url: '/v2/nowhere' });
});

test.each<[string, Partial<Answer>, string]>([
  ['a status that is not declared', { ...missing, status: 409 }, 'getEndpoint does not declare this status'],
  ['no request id', { headers: {} }, 'it has no x-request-id'],
  ['no header that must be there', { ...missing, status: 401 }, 'it lacks the header WWW-Authenticate'],
  ['another content type', { headers: { 'x-request-id': 'r1', 'content-type': 'text/html' } }, 'content type'],
  ['a body that is not JSON', { body: '<html>' }, 'its body is not JSON'],
  ['a missing property', { body: '{}' }, "must have required property 'id'"],
  ['a property of the wrong type', { body: account.body!.replace('"alice"', '7') }, 'name must be string'],
  ['a property too many', { body: account.body!.replace('{', '{"secret":1,') }, 'must NOT have additional properties'],
  ['a time that is none', { body: account.body!.replace('2026', 'MMXX') }, 'must match format "date-time"'],
  [
    'another status in the body',
    { ...missing, body: JSON.stringify({ ...PROBLEM, status: 400 }) },
    'its body says 400',
  ],
  ['a success where there is no path', { url: '/v2/nowhere' }, 'no path of the description fits'],
  ['a method that is not described', { method: 'PUT' }, 'the description has no PUT at /v2/account'],
  ['a refused method without Allow', { ...missing, method: 'PUT', status: 405 }, 'must be answered with Allow'],
  ['a body where there is none', { ...missing, method: 'DELETE', status: 204, body: 'x' }, 'it must have no body'],
])('an answer with %s is refused, with the reason', (_, change, reason) => {
  expect(() => checkAnswer({ ...account, ...change })).toThrow(reason);
});
