import { expect, test } from 'vitest';
import { Connection, isAway, type ProbeResult, probeServer } from './connection.ts';

const AWAY: ProbeResult = { isReached: false, detail: null };
const BACK: ProbeResult = { isReached: true };

/** A connection whose probes have these results, one after the other. */
function connectionTo(results: ProbeResult[]) {
  const seen = { pauses: [] as number[], restored: 0, states: [] as boolean[] };
  const connection = new Connection({
    probe: async () => results.shift()!,
    now: () => 1_000,
    sleep: async (ms) => {
      seen.pauses.push(ms);
    },
  });
  connection.onRestored(() => {
    seen.restored += 1;
  });
  connection.subscribe(() => seen.states.push(connection.reach().isLost));
  return { connection, seen };
}

test('a failed request with a server that answers is no outage', async () => {
  const { connection, seen } = connectionTo([BACK]);
  await connection.suspect();
  expect(seen).toEqual({ pauses: [], restored: 0, states: [false] });
});

test('a server that does not answer is lost until it does, with growing pauses', async () => {
  const { connection, seen } = connectionTo([AWAY, AWAY, AWAY, AWAY, AWAY, BACK]);
  await connection.suspect();
  expect(seen.pauses).toEqual([1_000, 2_000, 4_000, 5_000, 5_000]);
  expect(seen.states).toEqual([true, true, true, true, true, false]);
  expect(seen.restored).toBe(1);
});

test('many failed requests are one check, and all of them resolve when the server is back', async () => {
  const { connection, seen } = connectionTo([AWAY, BACK]);
  await Promise.all([connection.suspect(), connection.suspect(), connection.suspect()]);
  expect(seen.restored).toBe(1);
  expect(connection.reach()).toEqual({ isLost: false });
});

test("the server's own sentence and the beginning of the outage are kept", async () => {
  const { connection } = connectionTo([{ isReached: false, detail: 'The database is unreachable.' }, BACK]);
  const seen: unknown[] = [];
  connection.subscribe(() => seen.push(connection.reach()));
  await connection.suspect();
  expect(seen[0]).toEqual({ isLost: true, sinceMs: 1_000, detail: 'The database is unreachable.' });
});

test('“try now” ends the pause', async () => {
  const results = [AWAY, BACK];
  const connection = new Connection({
    probe: async () => results.shift()!,
    now: () => 0,
    sleep: (_ms, signal) => new Promise((resolve) => signal.addEventListener('abort', () => resolve())),
  });
  connection.subscribe(() => connection.reach().isLost && queueMicrotask(() => connection.tryNow()));
  await connection.suspect();
  expect(connection.reach().isLost).toBe(false);
});

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
