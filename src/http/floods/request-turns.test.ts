import { expect, test } from 'vitest';
import { enterRequestTurn, leaveRequestTurn } from './request-turns.ts';

/** Connections that note their turns. */
function connections(count: number) {
  const began: number[] = [];
  const all = Array.from({ length: count }, (_, n) => ({ takeTurn: () => void began.push(n) }));
  return { began, all };
}

test('few requests are begun until some are answered, first in, first out', async () => {
  const { began, all } = connections(6);
  for (const one of all) enterRequestTurn(one);
  await expect.poll(() => began, { interval: 1 }).toEqual([0, 1, 2, 3]);
  leaveRequestTurn(all[2]!);
  await expect.poll(() => began, { interval: 1 }).toEqual([0, 1, 2, 3, 4]);
  leaveRequestTurn(all[0]!);
  await expect.poll(() => began, { interval: 1 }).toEqual([0, 1, 2, 3, 4, 5]);
  for (const one of all) leaveRequestTurn(one);
});

test('requests that are held keep others waiting only for a moment', async () => {
  const { began, all } = connections(10);
  for (const one of all) enterRequestTurn(one);
  await expect.poll(() => began.length).toBe(10);
  for (const one of all) leaveRequestTurn(one);
});
