/** Chunks over 1 MB: docs/interface/queue.md, "Streams". */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { EndpointId } from '../../src/core/ids.ts';
import type { FakeWorker } from '../fake-worker.ts';
import { QueuePlaneFixture } from '../queue-plane.ts';

const MAX_BYTES = 1_000_000;
const TEXT = `${'a "quoted" line\n'.repeat(150_000)}${'😀'.repeat(100_000)}`;

let plane: QueuePlaneFixture;
let served: EndpointId;
let worker: FakeWorker;
beforeAll(async () => {
  plane = await QueuePlaneFixture.start({ takeHoldMs: 5_000 });
  served = await plane.endpoint(1);
  worker = await plane.worker(served);
});
afterAll(() => plane.close());

/** Runs a job that yields these chunks. */
async function yielded(...chunks: unknown[]): Promise<string> {
  const id = await plane.run(served);
  await worker.take();
  for (const output of chunks) expect((await worker.chunk(id, JSON.stringify({ output }))).status).toBe(200);
  await worker.done(id, '{"output":"end"}', true);
  return id;
}

/** Everything that /stream still has, with the size of each item. */
async function drain(id: string): Promise<{ outputs: unknown[]; sizes: number[] }> {
  const outputs: unknown[] = [];
  for (;;) {
    const { body } = await plane.call('GET', `${served}/stream/${id}`);
    outputs.push(...body.stream.map((item: { output: unknown }) => item.output));
    if (body.status === 'COMPLETED')
      return { outputs, sizes: outputs.map((output) => Buffer.byteLength(JSON.stringify(output))) };
  }
}

interface Event {
  id: string;
  data: string;
}

async function events(id: string, lastEventId?: string): Promise<Event[]> {
  const resume = lastEventId === undefined ? {} : { 'last-event-id': lastEventId };
  const { text } = await plane.call('GET', `${served}/stream/${id}`, {
    headers: { accept: 'text/event-stream', ...resume },
  });
  const records = text.trim().split('\n\n');
  expect(records.at(-1)).toMatch(/^event: done\n/);
  return records.slice(0, -1).map((record: string) => {
    const [, eventId, data] = /^id: (.*)\ndata: (.*)$/.exec(record)!;
    return { id: eventId!, data: data! };
  });
}

test('a text over 1 MB comes in consecutive parts of at most 1 MB, between the chunks before and after it', async () => {
  const { outputs, sizes } = await drain(await yielded('before', TEXT, 'after'));
  expect([outputs[0], outputs.at(-1)]).toEqual(['before', 'after']);
  const parts = outputs.slice(1, -1);
  expect(parts.join('') === TEXT).toBe(true);
  expect(parts.length).toBe(Math.ceil(Buffer.byteLength(JSON.stringify(TEXT)) / MAX_BYTES));
  expect(Math.max(...sizes)).toBeLessThanOrEqual(MAX_BYTES);
});

test('an object or a list over 1 MB comes whole', async () => {
  const chunks = [{ audio: 'x'.repeat(2 * MAX_BYTES) }, ['y'.repeat(MAX_BYTES), 1]];
  const { outputs } = await drain(await yielded(...chunks));
  expect(outputs).toEqual(chunks);
});

test('events resume exactly, after any part', async () => {
  const id = await yielded('before', TEXT, 'after');
  const all = await events(id);
  const numbers = all.map((event) => event.id);
  expect(numbers[1]).toMatch(/^\d+\/1$/);
  expect(
    all
      .slice(1, -1)
      .map(({ data }) => JSON.parse(data) as string)
      .join('') === TEXT,
  ).toBe(true);
  for (const [index, number] of numbers.entries()) {
    const resumed = await events(id, number);
    expect(resumed.map((event) => event.id)).toEqual(numbers.slice(index + 1));
    expect(resumed.every(({ data }, i) => data === all[index + 1 + i]!.data)).toBe(true);
  }
});

test('OpenAI routes have chunks whole: JSON as text is one event, however long', async () => {
  const item = JSON.stringify({ id: 'image', b64_json: 'z'.repeat(2 * MAX_BYTES) });
  const answer = plane.call('POST', `${served}/openai/v1/chat/completions`, { body: { model: 'm', stream: true } });
  const { id } = (await worker.take()).body;
  await worker.chunk(id, JSON.stringify({ output: item }));
  await worker.done(id, '{"output":[]}', true);
  expect((await answer).text.startsWith(`data: ${item}\n\n`)).toBe(true);
});
