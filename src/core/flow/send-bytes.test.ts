import { EventEmitter } from 'node:events';
import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { sendBytes } from './send-bytes.ts';

const CHUNK = 2 ** 18;

/** A client that takes each piece a few turns after it was written, as a kernel whose buffers are full does. */
class SlowClient extends EventEmitter {
  readonly received = new Set<string>();
  bytes = 0;
  readonly socket = null;
  readonly destroyed = false;
  readonly writableEnded = false;
  writableLength = 0;
  readonly #onWrite: (bytes: number) => void;

  constructor(onWrite: (bytes: number) => void) {
    super();
    this.#onWrite = onWrite;
  }

  get writableNeedDrain(): boolean {
    return this.writableLength > 0;
  }

  write(chunk: Buffer): boolean {
    this.#onWrite(chunk.length);
    this.writableLength = chunk.length;
    void turn()
      .then(() => turn())
      .then(() => {
        this.received.add(`${chunk[0]} ${chunk.at(-1)}`);
        this.bytes += chunk.length;
        this.writableLength = 0;
        this.emit('drain');
      });
    return false;
  }

  destroy(): void {}
}

/** A client that takes each piece at once. */
class FastClient extends EventEmitter {
  readonly socket = null;
  destroyed = false;
  readonly writableEnded = false;
  readonly writableLength = 0;
  readonly writableNeedDrain = false;
  readonly #onWrite: (bytes: number) => void;

  constructor(onWrite: (bytes: number) => void) {
    super();
    this.#onWrite = onWrite;
  }

  write(chunk: Buffer): boolean {
    this.#onWrite(chunk.length);
    return true;
  }

  destroy(): void {
    this.destroyed = true;
  }
}

test('the next piece is being read while one is written, also for a client that takes all at once', async () => {
  const log: string[] = [];
  const client = new FastClient(() => log.push('write'));
  const read = async (buffer: Buffer) => {
    log.push('read');
    await turn();
    return buffer.length;
  };
  await sendBytes(client, { start: 0, length: 6 * CHUNK, read });
  expect(log).toEqual(['read', 'read', 'write', 'read', 'write', 'write']);
});

test('what was read before a read failed is sent, then it throws', async () => {
  let sent = 0;
  const client = new FastClient((bytes) => (sent += bytes));
  const read = async (buffer: Buffer, at: number) => {
    if (at > 0) throw new Error('the file became shorter');
    return buffer.length;
  };
  await expect(sendBytes(client, { start: 0, length: 6 * CHUNK, read })).rejects.toThrow('the file became shorter');
  expect(sent).toBe(2 * CHUNK);
});

test('a client that goes away: nothing is being read once it has resolved', async () => {
  let [reading, reads] = [0, 0];
  const client = new FastClient(() => client.destroy());
  const read = async (buffer: Buffer) => {
    [reading, reads] = [reading + 1, reads + 1];
    await turn();
    await turn();
    reading -= 1;
    return buffer.length;
  };
  await sendBytes(client, { start: 0, length: 20 * CHUNK, read });
  expect([reading, reads]).toEqual([0, 2]);
});

test('many clients get what is theirs, whichever buffers were used before, and little is written in one turn of the event loop', async () => {
  let [written, most, isOver] = [0, 0, false];
  const looking = (async () => {
    for (; !isOver; written = 0) {
      await turn();
      most = Math.max(most, written);
    }
  })();
  const clients = Array.from({ length: 30 }, () => new SlowClient((bytes) => (written += bytes)));
  const send = (client: SlowClient, i: number) => {
    const read = async (buffer: Buffer) => buffer.fill(i).length;
    return sendBytes(client, { start: 0, length: 5 * CHUNK, read });
  };
  for (let round = 0; round < 2; round++) await Promise.all(clients.map(send));
  isOver = true;
  await looking;
  expect(clients.map(({ received }) => [...received])).toEqual(clients.map((_, i) => [`${i} ${i}`]));
  expect(clients.map(({ bytes }) => bytes)).toEqual(clients.map(() => 10 * CHUNK));
  expect(most).toBeGreaterThan(0);
  expect(most).toBeLessThanOrEqual(4 * CHUNK); // two, and those of the turn that the look may have missed
});
