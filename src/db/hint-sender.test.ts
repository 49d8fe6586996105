import { expect, test } from 'vitest';
import { silentLogger } from '../core/logger.ts';
import { HintSender } from './bus.ts';
import type { Pool } from './pool.ts';

test('while nothing can be sent, only the newest hints are kept', async () => {
  const sent: string[][] = [];
  const { promise: firstIsSent, resolve: endFirst } = Promise.withResolvers<void>();
  const query = async ({ values }: { values: [string[]] }) => {
    sent.push(values[0]);
    if (sent.length === 1) await firstIsSent;
  };
  const sender = new HintSender({ pool: { query } as unknown as Pool, logger: silentLogger });
  for (let i = 0; i <= 10_001; i++) sender.send('worker', `w${i}`);
  endFirst();
  await expect.poll(() => sent.length).toBe(2);
  expect(sent[0]).toEqual(['w0']);
  expect([sent[1]!.length, sent[1]![0], sent[1]!.at(-1)]).toEqual([10_000, 'w2', 'w10001']);
  expect(sender.stop()).toEqual([]);
});
