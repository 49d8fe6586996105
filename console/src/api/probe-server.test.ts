import { expect, test } from 'vitest';
import { isAway, probeServer, verifyKey } from './probe-server.ts';

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

const BASE_URL = 'http://127.0.0.1:8080';
const verify = (response: Response) => verifyKey(async () => response, BASE_URL, 'pyk_test');

test('the key is sent in the header, to the account', async () => {
  const calls: unknown[][] = [];
  const fetchFn: typeof fetch = async (...call) => {
    calls.push(call);
    return Response.json({});
  };
  await verifyKey(fetchFn, BASE_URL, 'pyk_test');
  expect(calls).toEqual([['http://127.0.0.1:8080/v2/account', { headers: { authorization: 'Bearer pyk_test' } }]]);
});

test('a key without access to the account is valid', async () => {
  await expect(verify(Response.json({ detail: 'forbidden' }, { status: 403 }))).resolves.toBeUndefined();
});

test("a wrong key is rejected with the server's message", async () => {
  const response = Response.json({ detail: 'invalid bearer token' }, { status: 401 });
  await expect(verify(response)).rejects.toMatchObject({ status: 401, message: 'invalid bearer token' });
});

test('an unreachable server is not reported as a wrong key', async () => {
  const offline = () => Promise.reject(new TypeError('failed to fetch'));
  await expect(verifyKey(offline, BASE_URL, 'pyk_test')).rejects.toMatchObject({
    status: 0,
    message: "Can't reach the server.",
  });
});
