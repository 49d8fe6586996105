import { EventEmitter } from 'node:events';
import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { sendBytes } from './send-bytes.ts';

const CHUNK = 2 ** 18;

/** A client that takes each piece a few turns after it was written, as a kernel whose buffers are full does. */
class SlowClient extends EventEmitter {
  received = '';
  readonly socket = null;
  readonly destroyed = false;
  readonly writableEnded = false;
  writableLength = 0;
  readonly #onWrite: () => void;

  constructor(onWrite: () => void) {
    super();
    this.#onWrite = onWrite;
  }

  get writableNeedDrain(): boolean {
    return this.writableLength > 0;
  }

  write(chunk: Buffer): boolean {
    this.#onWrite();
    this.writableLength = chunk.length;
    void turn()
      .then(() => turn())
      .then(() => {
        this.received += `${chunk[0]}${chunk.at(-1)} `;
        this.writableLength = 0;
        this.emit('drain');
      });
    return false;
  }

  destroy(): void {}
}

test('many clients get what is theirs, whichever buffers were used before, and few get a piece in one turn of the event loop', async () => {
  let [written, most, isOver] = [0, 0, false];
  const looking = (async () => {
    for (; !isOver; written = 0) {
      await turn();
      most = Math.max(most, written);
    }
  })();
  const clients = Array.from({ length: 30 }, () => new SlowClient(() => (written += 1)));
  const send = (client: SlowClient, i: number) => {
    const read = async (buffer: Buffer) => buffer.fill(i).length;
    return sendBytes(client, { start: 0, length: 5 * CHUNK, read });
  };
  for (let round = 0; round < 2; round++) await Promise.all(clients.map(send));
  isOver = true;
  await looking;
  expect(clients.map(({ received }) => received)).toEqual(clients.map((_, i) => `${i}${i} `.repeat(10)));
  expect(most).toBeGreaterThan(0);
  expect(most).toBeLessThanOrEqual(4); // two, and those of the turn that the look may have missed
});
