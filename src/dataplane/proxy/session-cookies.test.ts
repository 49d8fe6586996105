/** Conformance to docs/interface/sessions.md, "Requests": no workload sees or sets the cookie of a session. */
import { expect, test } from 'vitest';
import { HeaderList } from '../wire/header-list.ts';
import { clientHeaders, upstreamHeaders } from './header-rules.ts';

const CLIENT = { remoteAddress: '203.0.113.7', isSecure: false, isTrusted: false };

function listOf(name: string, ...values: string[]): HeaderList {
  const headers = new HeaderList();
  for (const value of values) headers.add(name, value);
  return headers;
}

test.each([
  ['a=1', 'Cookie: a=1'],
  ['a=1; podyard_abc=pys_x; b=2', 'Cookie: a=1; b=2'],
  ['__Host-podyard_abc=pys_x; a=1', 'Cookie: a=1'],
  [' podyard_abc=pys_x', null],
  ['theme=podyard_dark', 'Cookie: theme=podyard_dark'],
])('of %j a workload gets %j', (cookies, sent) => {
  const lines = upstreamHeaders(listOf('Cookie', cookies), CLIENT, new Set()).split('\r\n');
  expect(lines.filter((line) => line.startsWith('Cookie'))).toEqual(sent === null ? [] : [sent]);
});

test('a workload sets its own cookies only', () => {
  const headers = listOf(
    'Set-Cookie',
    'a=1; Path=/',
    'podyard_abc=planted; Path=/',
    '__Host-podyard_abc=planted; Secure',
  );
  expect(clientHeaders(headers, [])).toEqual(['Set-Cookie', 'a=1; Path=/']);
});
