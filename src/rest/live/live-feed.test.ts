import { expect, test, vi } from 'vitest';
import { monotonicClock } from '../../core/clock.ts';
import { silentLogger } from '../../core/logger.ts';
import { Feed } from './live-feed.ts';

const QUIET_MS = 60_000;

function feedOf(read: () => Promise<string | undefined>): Feed {
  return new Feed({ read, logger: silentLogger, clock: monotonicClock });
}

test('a watcher gets the current state at once, then each change once', async () => {
  let state = 'one';
  const feed = feedOf(async () => state);
  const watching = feed.watch(new AbortController().signal, QUIET_MS);
  expect((await watching.next()).value).toBe('one');
  const next = watching.next();
  feed.hint(); // nothing changed
  state = 'two';
  feed.hint();
  expect((await next).value).toBe('two');
  await watching.return(undefined);
});

test('a hint that comes during a read is followed by another one', async () => {
  let state = 'one';
  const reads: (() => void)[] = [];
  const read = async () => {
    const seen = state;
    await new Promise<void>((resolve) => reads.push(resolve));
    return seen;
  };
  const feed = new Feed({ read, logger: silentLogger, clock: { now: () => 0 } });
  const watching = feed.watch(new AbortController().signal, QUIET_MS);
  const first = watching.next();
  await vi.waitFor(() => expect(reads).toHaveLength(1));
  state = 'two';
  feed.hint();
  reads[0]!();
  expect((await first).value).toBe('one');
  await vi.waitFor(() => expect(reads).toHaveLength(2), { timeout: 500 }); // without the hint: after a second
  reads[1]!();
  expect((await watching.next()).value).toBe('two');
  await watching.return(undefined);
});

test('a watcher gets no state that was read before it came, with or without others', async () => {
  let state = 'old';
  const reads: (() => void)[] = [];
  const read = async () => {
    const seen = state;
    await new Promise<void>((resolve) => reads.push(resolve));
    return seen;
  };
  const feed = feedOf(read);
  const first = feed.watch(new AbortController().signal, QUIET_MS);
  const leaving = first.next();
  await vi.waitFor(() => expect(reads).toHaveLength(1));
  reads[0]!();
  expect((await leaving).value).toBe('old');
  feed.hint();
  await vi.waitFor(() => expect(reads).toHaveLength(2));
  await first.return(undefined); // while it is read
  state = 'new';
  const second = feed.watch(new AbortController().signal, QUIET_MS);
  const got = second.next();
  reads[1]!();
  await vi.waitFor(() => expect(reads).toHaveLength(3));
  reads[2]!();
  expect((await got).value).toBe('new');
  state = 'newest';
  const third = feed.watch(new AbortController().signal, QUIET_MS).next();
  await vi.waitFor(() => expect(reads).toHaveLength(4));
  reads[3]!();
  expect((await third).value).toBe('newest');
  expect((await second.next()).value).toBe('newest');
  await second.return(undefined);
});

test('five reads may follow each other at once; after them each waits for its pause', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  let reads = 0;
  const feed = new Feed({ read: async () => String(++reads), logger: silentLogger, clock: { now: () => 0 } });
  const watching = feed.watch(new AbortController().signal, QUIET_MS);
  try {
    const first = watching.next();
    await vi.advanceTimersByTimeAsync(1);
    await first;
    for (let i = 0; i < 10; i++) {
      feed.hint();
      await vi.advanceTimersByTimeAsync(1);
    }
    expect(reads).toBe(5);
  } finally {
    await watching.return(undefined);
    vi.useRealTimers();
  }
});

test('it is read once for all watchers, and never without any', async () => {
  const read = vi.fn(async () => 'same');
  const feed = feedOf(read);
  const watchers = Array.from({ length: 50 }, () => feed.watch(new AbortController().signal, QUIET_MS));
  await Promise.all(watchers.map((watching) => watching.next()));
  expect(read).toHaveBeenCalledTimes(1);
  await Promise.all(watchers.map((watching) => watching.return(undefined)));
  expect(feed.isWatched).toBe(false);
  feed.hint();
  expect(read).toHaveBeenCalledTimes(1);
});

test('it ends when the subject is gone or the watcher leaves', async () => {
  let state: string | undefined = 'here';
  const feed = feedOf(async () => state);
  const staying = feed.watch(new AbortController().signal, QUIET_MS);
  const gone = new AbortController();
  const going = feed.watch(gone.signal, QUIET_MS);
  await Promise.all([staying.next(), going.next()]);
  const end = going.next();
  gone.abort();
  expect(await end).toEqual({ value: undefined, done: true });
  state = undefined;
  feed.hint();
  expect(await staying.next()).toEqual({ value: undefined, done: true });
});

test('a failed read is retried; a quiet period is reported', async () => {
  const read = vi.fn(async () => 'back').mockRejectedValueOnce(new Error('the database is away'));
  const watching = feedOf(read).watch(new AbortController().signal, 5);
  expect((await watching.next()).value).toBeUndefined(); // quiet
  await vi.waitFor(async () => expect((await watching.next()).value).toBe('back'), { timeout: 8_000 });
  await watching.return(undefined);
});
