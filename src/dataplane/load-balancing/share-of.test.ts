import fc from 'fast-check';
import { expect, test } from 'vitest';
import { shareOf } from './traffic-directory.ts';

const ids = fc.uniqueArray(fc.stringMatching(/^[a-z]{8}$/), { minLength: 1, maxLength: 9 });

test('the shares of all processes add up to the limit, and differ by at most one', () => {
  fc.assert(
    fc.property(ids, fc.nat(2_000), fc.string(), (processIds, extra, key) => {
      const total = processIds.length + extra;
      const shares = processIds.map((id) => shareOf(total, processIds, id, key));
      expect(shares.reduce((sum, share) => sum + share, 0)).toBe(total);
      expect(Math.max(...shares) - Math.min(...shares)).toBeLessThanOrEqual(1);
    }),
  );
});

test('each process gets one of a limit below the number of processes, and nothing of a limit of zero', () => {
  expect(['a', 'b', 'c'].map((id) => shareOf(2, ['a', 'b', 'c'], id, 'w'))).toEqual([1, 1, 1]);
  expect(['a', 'b'].map((id) => shareOf(0, ['a', 'b'], id, 'w'))).toEqual([0, 0]);
});

test('a process that is alone, or not yet known, gets the whole limit', () => {
  expect(shareOf(1000, ['a'], 'a', 'w')).toBe(1000);
  expect(shareOf(1000, [], 'a', 'w')).toBe(1000);
});

test('the remainder goes to different processes for different workers', () => {
  const winners = Array.from({ length: 50 }, (_, i) => shareOf(3, ['a', 'b'], 'a', `worker${i}`));
  expect(new Set(winners)).toEqual(new Set([1, 2]));
});
