import { Readable } from 'node:stream';
import { expect, test } from 'vitest';
import { readMessages } from './build-messages.ts';

async function readAll(answer: Readable): Promise<unknown[]> {
  const messages: unknown[] = [];
  for await (const message of readMessages(answer)) messages.push(message);
  return messages;
}
const read = (...chunks: readonly string[]) => readAll(Readable.from(chunks.map((chunk) => Buffer.from(chunk))));

test('messages are read however their bytes are divided', async () => {
  expect(await read('{"stream":"a"}\n{"str', 'eam":"b"}\n', '\n{"stream":"c"}')).toEqual(
    ['a', 'b', 'c'].map((stream) => ({ stream })),
  );
});

test('what the engine says of a failure ends them', async () => {
  await expect(read('{"error":"no space left"}\n{"stream":"a"}\n')).rejects.toThrow('no space left');
});

test('a message without end is not held: the answer is closed', async () => {
  let sent = 0;
  const endless = Readable.from(
    (function* () {
      for (;;) {
        sent += 2 ** 20;
        yield Buffer.alloc(2 ** 20, 'x');
      }
    })(),
  );
  await expect(readAll(endless)).rejects.toThrow('it printed a line of more than 16 MiB');
  expect(endless.destroyed).toBe(true);
  expect(sent).toBeLessThan(64 * 2 ** 20);
});

test('a text of many megabytes is cut as it comes, wherever an escape is, and what follows is read', async () => {
  for (const part of ['x', '\\', '"', '\u0001', 'é', '\\u12']) {
    for (let shift = 0; shift < 8; shift += 1) {
      const long = `${'-'.repeat(shift)}${part.repeat(2 ** 16)}${'y'.repeat(2 ** 18)}`;
      const bytes = Buffer.from(`${JSON.stringify({ stream: long })}\n{"stream":"after"}\n`);
      const pieces = [bytes.subarray(0, 5), bytes.subarray(5, 70_000), bytes.subarray(70_000)];
      const [first, second, ...more] = (await readAll(Readable.from(pieces))) as { stream: string }[];
      expect(first!.stream.length).toBeLessThan(80_000);
      expect(first!.stream.slice(0, 8_000)).toBe(long.slice(0, 8_000));
      expect([second, more]).toEqual([{ stream: 'after' }, []]);
    }
  }
});

test('a text of more than a message may have does not end the build', async () => {
  const pieces = ['{"stream":"', ...Array.from({ length: 32 }, () => 'x'.repeat(2 ** 20)), '"}\n'];
  expect(await readAll(Readable.from(pieces.map((piece) => Buffer.from(piece))))).toHaveLength(1);
});
