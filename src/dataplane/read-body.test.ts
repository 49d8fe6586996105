import { EventEmitter } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { PassThrough } from 'node:stream';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Failure } from '../core/errors.ts';
import type { UserId } from '../core/ids.ts';
import { BodyBudget } from './body-budget.ts';
import { withBody } from './read-body.ts';

const MB = 2 ** 20;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function exchange(headers: Record<string, string>): { req: IncomingMessage; body: PassThrough; res: ServerResponse } {
  const body = new PassThrough();
  const req = Object.assign(body, { headers, complete: false }) as unknown as IncomingMessage;
  return { req, body, res: new EventEmitter() as ServerResponse };
}

const tooLarge = (limit: number) => new Failure('badRequest', `over ${limit}`);
const sizeOf = async (body: Buffer) => body.length;

function source(budget: BodyBudget, headers: Record<string, string>, user = 'u1') {
  const { req, res, body } = exchange(headers);
  const userId = user as UserId;
  return { given: { req, res, budget, userId, limitBytes: 10 * MB, tooLarge }, body };
}

test('a large body that stops arriving is refused with 408, and its memory is free again', async () => {
  const budget = new BodyBudget(16 * MB, 60_000); // room for one
  const stalled = source(budget, { 'content-length': String(8 * MB) });
  const reading = withBody(stalled.given, sizeOf);
  const ended = vi.fn();
  const failing = expect(reading.finally(ended)).rejects.toMatchObject({ kind: 'requestTimeout' });
  await vi.advanceTimersByTimeAsync(25_000);
  stalled.body.write('x');
  await vi.advanceTimersByTimeAsync(25_000);
  expect(ended).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(6_000);
  await failing;
  const next = source(budget, { 'content-length': String(MB) });
  next.body.end(Buffer.alloc(MB));
  expect(await withBody(next.given, sizeOf)).toBe(MB);
});

test('a body for which there is no room is not read, and gets a 503 when there is none in time', async () => {
  const budget = new BodyBudget(16 * MB, 20_000);
  void withBody(source(budget, { 'content-length': String(8 * MB) }).given, sizeOf).catch(() => {});
  const second = source(budget, { 'content-length': String(8 * MB) });
  const failing = expect(withBody(second.given, sizeOf)).rejects.toMatchObject({ kind: 'unavailable' });
  expect(second.body.listenerCount('data')).toBe(0);
  await vi.advanceTimersByTimeAsync(20_000);
  await failing;
  const small = source(budget, { 'content-length': '5' });
  small.body.end('small');
  expect(await withBody(small.given, sizeOf)).toBe(5); // small ones have a share of their own
});

test.each([
  ['large', 8 * MB, 4],
  ['small', 60_000, 100],
])('a user who sends %s bodies slowly yields to another user, and to nobody else', async (_, bytes, count) => {
  const budget = new BodyBudget(16 * MB, 60_000);
  const headers = { 'content-length': String(bytes) };
  const slow = Array.from({ length: count }, () => source(budget, headers, 'slow'));
  const outcomes = slow.map(({ given }) =>
    withBody(given, sizeOf).then(
      () => 'read',
      ({ message }: Error) => message,
    ),
  );
  await vi.advanceTimersByTimeAsync(5_000);
  const other = source(budget, headers, 'other');
  other.body.end(Buffer.alloc(bytes));
  const reading = withBody(other.given, sizeOf);
  await vi.advanceTimersByTimeAsync(2_000);
  expect(await Promise.race([reading, vi.advanceTimersByTimeAsync(1).then(() => 'waits')])).toBe(bytes);
  for (const { body } of slow) body.end(Buffer.alloc(bytes));
  await vi.advanceTimersByTimeAsync(20_000);
  const yielded = (await Promise.all(outcomes)).filter((outcome) => /other users waited/.test(outcome));
  expect(yielded).toHaveLength(1);
});

test('a chunked body reserves the limit, and only its size once it is read', async () => {
  const budget = new BodyBudget(100 * MB, 60_000);
  const first = source(budget, { 'transfer-encoding': 'chunked' });
  const used = withBody(first.given, async () => {
    expect(budget.tryReserve(20 * MB)).toBeDefined();
    return true;
  });
  expect(budget.tryReserve(20 * MB)).toBeUndefined();
  first.body.end('{}');
  expect(await used).toBe(true);
});

test('a body that is announced over the limit is refused unread', async () => {
  const large = source(new BodyBudget(16 * MB, 60_000), { 'content-length': String(11 * MB) });
  await expect(withBody(large.given, sizeOf)).rejects.toThrow('over');
  expect(large.body.listenerCount('data')).toBe(0);
});
