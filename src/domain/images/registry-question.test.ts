import { expect, test } from 'vitest';
import { bearerOf, tokenServerOf } from './registry-question.ts';

const ASKED = 'Bearer Realm="https://auth.example.com/token",service="registry",scope="repository:a:pull"';

test('a registry sends who wants a token to a server, with its service and scope', () => {
  const server = tokenServerOf(ASKED, { hasTls: true }) as URL;
  expect(server.href).toBe('https://auth.example.com/token?service=registry&scope=repository%3Aa%3Apull');
  expect((tokenServerOf(ASKED, { hasTls: true, scope: 'other' }) as URL).searchParams.get('scope')).toBe('other');
});

test.each([
  ['Basic realm="x"', true, null],
  ['Bearer service="registry"', true, { fault: 'names no server that gives tokens' }],
  ['Bearer realm="http://a/token"', true, { fault: 'names a server for tokens without TLS, which is not asked' }],
  ['Bearer realm="file:///token"', false, { fault: 'names a server for tokens without TLS, which is not asked' }],
])('%s, TLS %s: %j', (question, hasTls, expected) => {
  expect(tokenServerOf(question, { hasTls })).toEqual(expected);
});

test('a registry without TLS may have such a server, too', () => {
  expect(tokenServerOf('Bearer realm="http://127.0.0.1:5001/t"', { hasTls: false })).toBeInstanceOf(URL);
});

test.each([
  ['{"token": "a.b"}', 'Bearer a.b'],
  ['{"access_token": "c"}', 'Bearer c'],
  ['{"token": "a\\nb"}', null],
  ['{}', null],
  ['<html>', null],
])('of %s', (body, authorization) => {
  expect(bearerOf(body)).toBe(authorization);
});
