import { expect, test } from 'vitest';
import { withTimeout } from './with-timeout.ts';

const late = () => new Error('late');

test('work that ends in time keeps its result or its error', async () => {
  expect(await withTimeout(Promise.resolve(1), 1_000, late)).toBe(1);
  await expect(withTimeout(Promise.reject(new Error('its own')), 1_000, late)).rejects.toThrow('its own');
});

test('work that does not end in time fails, and its later error disturbs nobody', async () => {
  const work = Promise.withResolvers<never>();
  await expect(withTimeout(work.promise, 1, late)).rejects.toThrow('late');
  work.reject(new Error('too late'));
  await new Promise((resolve) => setImmediate(resolve)); // an unhandled rejection would fail the run
});
