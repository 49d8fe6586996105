import { expect, test } from 'vitest';
import { isAway, probeServer } from './probe-server.ts';

const probe = (answer: () => Response) => probeServer(async () => answer(), 'http://host');

test.each([200, 401, 404, 429])('a server that answers %i is reached', async (status) => {
  expect(await probe(() => new Response(null, { status }))).toEqual({ isReached: true });
});

test("a server that isn't ready says why", async () => {
  const answer = () => Response.json({ detail: 'The database is unreachable.' }, { status: 503 });
  expect(await probe(answer)).toEqual({ isReached: false, detail: 'The database is unreachable.' });
});

test.each([
  ['a page of a proxy', () => new Response('<h1>Bad Gateway</h1>', { status: 502 })],
  ['a detail that is no text', () => Response.json({ detail: 7 }, { status: 503 })],
  [
    'no answer',
    () => {
      throw new TypeError('fetch failed');
    },
  ],
])('%s is an outage without a sentence', async (_what, answer) => {
  expect(await probe(answer)).toEqual({ isReached: false, detail: null });
});

test('errors of a working server are no outage', () => {
  expect([0, 502, 503, 504].every(isAway)).toBe(true);
  expect([200, 401, 422, 429, 500].some(isAway)).toBe(false);
});
