import { expect, test } from 'vitest';
import { markReady } from './mark-ready.ts';

test('a worker whose readiness could not be written is marked at its next take', async () => {
  const published: string[] = [];
  let isAway = true;
  const plane = {
    pool: { query: async () => (isAway ? Promise.reject(new Error('away')) : { rows: [] }) },
    bus: { publish: (kind: string) => published.push(kind) },
  };
  const call = { plane, worker: { id: 'w', endpointId: 'e', isReady: false } } as never;
  await expect(markReady(call)).rejects.toThrow('away');
  isAway = false;
  await markReady(call);
  expect(published).toEqual(['worker', 'demand', 'ready']);
});
