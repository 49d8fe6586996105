import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { type Logger, silentLogger } from './logger.ts';
import { SeldomLog } from './seldom-log.ts';

const logged: { fields: Record<string, unknown>; text: string }[] = [];
const logger = {
  ...silentLogger,
  warn: (fields: object, text?: string) => logged.push({ fields: { ...fields }, text: text! }),
} as Logger;
let log: SeldomLog;
beforeEach(() => {
  vi.useFakeTimers();
  logged.length = 0;
  log = new SeldomLog(logger);
});
afterEach(() => vi.useRealTimers());

const fail = (message: string, action = 'stop failed') => log.warn({ err: new Error(message) }, action);
const texts = () => logged.map(({ text }) => text);

test('a failure is logged at once, then once a minute with how often it was repeated, until it is over', async () => {
  for (let n = 0; n < 150; n++) {
    fail('connect ECONNREFUSED');
    await vi.advanceTimersByTimeAsync(1_000);
  }
  expect(texts()).toEqual(Array.from({ length: 3 }, () => 'stop failed: connect ECONNREFUSED'));
  await vi.advanceTimersByTimeAsync(600_000);
  expect(logged.map(({ fields }) => fields.repeated)).toEqual([undefined, 59, 60, 30]);
  expect(vi.getTimerCount()).toBe(0);
  fail('connect ECONNREFUSED');
  expect(logged).toHaveLength(5); // a new fault has its line at once
});

test('failures that name a container, an id or an address are of one kind', async () => {
  fail("No such container: podyard-k3x9w0a1 (HTTP code 404) of '3f9c'");
  fail("No such container: podyard-zzqwertyuiopas (HTTP code 404) of 'beef'");
  fail('No such container: 8c1d5e (HTTP code 404) of "x y"');
  expect(logged).toHaveLength(1);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(logged[1]!.fields.repeated).toBe(2);
});

test('another action, message or error code is of another kind', () => {
  fail('no space left');
  fail('no space left', 'start failed');
  fail('permission denied');
  fail('the receiver answered 404');
  fail('the receiver answered 500');
  log.warn({ err: Object.assign(new Error('no space left'), { code: 'ENOSPC' }) }, 'stop failed');
  expect(logged).toHaveLength(6);
});

test('what was repeated is logged at the end, too', () => {
  fail('away');
  fail('away');
  log.close();
  expect(logged.map(({ fields }) => fields.repeated)).toEqual([undefined, 1]);
  expect(vi.getTimerCount()).toBe(0);
});
