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
