import fc from 'fast-check';
import { expect, test } from 'vitest';
import { newId, newJobId, newSecret } from './ids.ts';

test('an id is a host label of the requested length: lowercase letters and digits, a letter first', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 63 }), (length) => {
      expect(newId(length)).toMatch(new RegExp(`^[a-z][a-z0-9]{${length - 1}}$`));
    }),
  );
});

test('ids do not repeat, and all characters are about equally likely', () => {
  const ids = Array.from({ length: 20_000 }, () => newId<string>());
  expect(new Set(ids).size).toBe(ids.length);
  const counts = new Map<string, number>();
  for (const id of ids) for (const character of id.slice(1)) counts.set(character, (counts.get(character) ?? 0) + 1);
  const expected = (ids.length * 13) / 36;
  expect(counts.size).toBe(36);
  for (const count of counts.values()) expect(Math.abs(count - expected) / expected).toBeLessThan(0.1); // 8.6 sigma
});

test('a job id is a version-7 UUID of its time with a region suffix, and a prefix if it is synchronous', () => {
  const now = 1_900_000_000_000;
  const id = newJobId('', now);
  expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}-u1$/);
  expect(Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16)).toBe(now);
  expect(newJobId('sync-', now)).toMatch(/^sync-[0-9a-f]{8}-/);
});

test('job ids ascend and never repeat, even within a millisecond or when the clock steps back', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: -5, max: 5 }), { minLength: 1, maxLength: 6000 }), (steps) => {
      let now = 2_000_000_000_000;
      const ids = steps.map((step) => {
        now += step;
        return newJobId('', now);
      });
      expect(new Set(ids).size).toBe(ids.length);
      expect([...ids].sort()).toEqual(ids);
    }),
    { numRuns: 30 },
  );
  const burst = Array.from({ length: 10_000 }, () => newJobId('', 2_000_000_000_000));
  expect([...burst].sort()).toEqual(burst);
});

test('a secret has its prefix and 192 bits that are safe in a header and a URL', () => {
  expect(newSecret('pyk')).toMatch(/^pyk_[A-Za-z0-9_-]{32}$/);
  expect(newSecret('pyk')).not.toBe(newSecret('pyk'));
});
