import { expect, test } from 'vitest';
import { followEvents, readEvents } from './follow-events.ts';

type Step = { id?: string; data: string } | 'break';

/** Follows connections that yield these events, and stops when there are none left. */
async function follow(connections: Step[][], lastId: string | null = null) {
  const seen = {
    data: [] as string[],
    resumedAfter: [] as (string | null)[],
    sleeps: [] as number[],
    isOpen: [] as boolean[],
  };
  const controller = new AbortController();
  await followEvents({
    lastId,
    signal: controller.signal,
    async *connect(last) {
      seen.resumedAfter.push(last);
      for (const step of connections.shift() ?? []) {
        if (step === 'break') throw new Error('connection reset');
        yield step;
      }
    },
    onEvent: ({ data }) => seen.data.push(data),
    onConnection: (isOpen) => seen.isOpen.push(isOpen),
    sleep: async (ms) => {
      seen.sleeps.push(ms);
      if (connections.length === 0) controller.abort();
    },
  });
  return seen;
}

test('reconnects after a break and resumes after the last id', async () => {
  const seen = await follow([[{ id: '1', data: 'a' }, { data: 'b' }, 'break'], [{ id: '2', data: 'c' }], []], '0');
  expect(seen.data).toEqual(['a', 'b', 'c']);
  expect(seen.resumedAfter).toEqual(['0', '1', '2']);
});

test('reconnects after a stream ends', async () => {
  const seen = await follow([[{ data: 'a' }], [{ data: 'b' }]]);
  expect(seen.data).toEqual(['a', 'b']);
  expect(seen.isOpen).toEqual([true, false, true, false]);
});

test('backoff doubles up to 10 s and resets after an event', async () => {
  const failures = Array.from({ length: 7 }, (): Step[] => ['break']);
  const seen = await follow([...failures, [{ data: 'a' }, 'break'], ['break']]);
  expect(seen.sleeps).toEqual([500, 1_000, 2_000, 4_000, 8_000, 10_000, 10_000, 500, 1_000]);
});

test('an abort ends it without reconnecting', async () => {
  const controller = new AbortController();
  const reports: boolean[] = [];
  await followEvents({
    lastId: null,
    signal: controller.signal,
    async *connect() {
      yield { data: 'a' };
    },
    onEvent: () => controller.abort(),
    onConnection: (isOpen) => reports.push(isOpen),
    sleep: () => Promise.reject(new Error('it must not wait')),
  });
  expect(reports).toEqual([true]);
});

/** The events of a body that arrives in these chunks. */
async function eventsOf(...chunks: (string | Uint8Array)[]) {
  const encoder = new TextEncoder();
  const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
    start(controller) {
      for (const chunk of chunks)
        controller.enqueue(typeof chunk === 'string' ? encoder.encode(chunk) : new Uint8Array(chunk));
      controller.close();
    },
  });
  const events: { id: string | undefined; data: string }[] = [];
  for await (const { id, data } of readEvents(body)) events.push({ id, data });
  return events;
}

test('each event is yielded with its id and data', async () => {
  expect(await eventsOf('id: 7\ndata: {"a":1}\n\ndata: two\n\n')).toEqual([
    { id: '7', data: '{"a":1}' },
    { id: undefined, data: 'two' },
  ]);
});

test('an event may be split anywhere, even inside a character', async () => {
  const bytes = new TextEncoder().encode('id: 1\ndata: größer\n\n');
  const cuts = Array.from({ length: bytes.length - 1 }, (_, at) => [bytes.slice(0, at + 1), bytes.slice(at + 1)]);
  for (const parts of cuts) expect(await eventsOf(...parts)).toEqual([{ id: '1', data: 'größer' }]);
});

test('CRLF line ends, several data lines and comments are parsed', async () => {
  expect(await eventsOf(': keep-alive\r\n\r\ndata:a\r\ndata: b\r\n\r\n')).toEqual([{ id: undefined, data: 'a\nb' }]);
});

test('an incomplete event at the end is dropped', async () => {
  expect(await eventsOf('data: whole\n\ndata: ha')).toEqual([{ id: undefined, data: 'whole' }]);
});
