import { expect, onTestFinished, test, vi } from 'vitest';
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

test('a hint of demand is repeated ten times a second at most, and any other after the pause that it is given', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  onTestFinished(() => void vi.useRealTimers());
  await vi.advanceTimersByTimeAsync(100);
  const sent: string[] = [];
  const query = async ({ values }: { values: [string[]] }) => sent.push(values[0].join(' '));
  const sender = new HintSender({ pool: { query } as unknown as Pool, logger: silentLogger });
  const sentWhile = async (ms: number, send: () => void) => {
    sent.length = 0;
    for (let i = 0; i < ms; i++) {
      send();
      await vi.advanceTimersByTimeAsync(1);
    }
    return sent;
  };
  expect(await sentWhile(190, () => sender.send('demand', 'd'))).toEqual(['d', 'd']);
  expect(await sentWhile(49, () => sender.send('queued', 'q', 25))).toEqual(['d q', 'q']);
  await vi.advanceTimersByTimeAsync(100);
  expect(await sentWhile(190, () => sender.send('queued', 'q', 100))).toEqual(['q', 'q']);
  expect((await sentWhile(49, () => sender.send('queued', 'q'))).length).toBeGreaterThan(15);
  await vi.advanceTimersByTimeAsync(100);
  sender.send('demand', 'd');
  expect(await sentWhile(12, () => sender.send('demand', 'e'))).toEqual(['e']); // another endpoint's does not wait as long
});
