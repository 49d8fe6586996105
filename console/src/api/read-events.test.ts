import { expect, test } from 'vitest';
import { readEvents } from './read-events.ts';

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
