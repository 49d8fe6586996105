import { expect, test } from 'vitest';
import { forget, readHistory, remember, type SentRequest } from './request-history.ts';

function createStorage() {
  const items = new Map<string, string>();
  return {
    items,
    getItem: (name: string) => items.get(name) ?? null,
    setItem: (name: string, value: string) => void items.set(name, value),
    removeItem: (name: string) => void items.delete(name),
  };
}

const job = (at: number, input = '{}'): SentRequest => ({
  ...{ kind: 'job', at, input, jobId: `j${at}`, outcome: 'IN_QUEUE', ms: null },
});

test('the last twenty of each endpoint are kept, newest first', () => {
  const storage = createStorage();
  for (let at = 1; at <= 25; at++) remember(storage, 'e1', job(at));
  remember(storage, 'e2', job(99));
  const history = readHistory(storage, 'e1');
  expect(history.map(({ at }) => at)).toEqual(Array.from({ length: 20 }, (_, n) => 25 - n));
  forget(storage, 'e1');
  expect(readHistory(storage, 'e1')).toEqual([]);
  expect(readHistory(storage, 'e2')).toHaveLength(1);
});

test('a request is replaced when its outcome is known', () => {
  const storage = createStorage();
  remember(storage, 'e1', job(1));
  remember(storage, 'e1', { ...job(1), outcome: 'COMPLETED', ms: 12 });
  expect(readHistory(storage, 'e1')).toMatchObject([{ outcome: 'COMPLETED', ms: 12 }]);
});

test('headers that carry keys are not kept, nor are large bodies', () => {
  const storage = createStorage();
  const call = { method: 'POST', path: '/', body: '' };
  const headers = ['Authorization', 'X-Api-Key', 'apikey', 'cookie', 'X-Auth-Token', 'Accept'].map((name) => ({
    name,
    value: 'v',
  }));
  remember(storage, 'e1', { kind: 'http', at: 1, outcome: '200', ms: 1, call: { ...call, headers } });
  remember(storage, 'e1', {
    kind: 'http',
    at: 2,
    outcome: '200',
    ms: 1,
    call: { ...call, headers, body: 'x'.repeat(30_000) },
  });
  remember(storage, 'e1', job(3, 'x'.repeat(30_000)));
  expect(readHistory(storage, 'e1')).toMatchObject([{ at: 1, call: { headers: [{ name: 'Accept' }] } }]);
});

test.each(['{', 'null', '{"at":1}', '[{"at":1,"kind":"job"},{"at":1,"kind":"http","outcome":"","call":{}},null]'])(
  'a storage with %s is an empty history',
  (text) => {
    const storage = createStorage();
    storage.items.set('podyard-requests-e1', text);
    expect(readHistory(storage, 'e1')).toEqual([]);
  },
);

test('a full storage costs only the history', () => {
  const full = {
    ...createStorage(),
    setItem: () => {
      throw new Error('QuotaExceededError');
    },
  };
  expect(remember(full, 'e1', job(1))).toHaveLength(1);
});
