import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { mayReadOn } from './bulk-reads.ts';

/** A connection with so many large pieces to read, as long as it may. */
class Source {
  read = 0;
  readonly #size: number;
  readonly #onRead: () => void;

  constructor(size: number, onRead: () => void) {
    this.#size = size;
    this.#onRead = onRead;
  }

  readOn(): void {
    while (this.read < this.#size) {
      this.read += 1;
      this.#onRead();
      if (!mayReadOn(this)) return;
    }
  }
}

test('few connections that carry much read on without a pause', () => {
  const one = new Source(8, () => {});
  one.readOn();
  expect(one.read).toBe(8);
});

test('of many connections that carry much, few are read in a turn of the event loop, and each has its share', async () => {
  await turn();
  let reads = 0;
  const sources = Array.from({ length: 100 }, () => new Source(5, () => (reads += 1)));
  for (const source of sources) source.readOn();
  expect(reads).toBeLessThanOrEqual(100 + 8);
  await turn();
  for (let last = -1; reads < 500; ) {
    if (last >= 0) expect(reads - last).toBeLessThanOrEqual(8);
    last = reads;
    const shares = sources.map(({ read }) => read);
    expect(Math.max(...shares) - Math.min(...shares)).toBeLessThanOrEqual(5);
    await turn();
  }
  expect(sources.every(({ read }) => read === 5)).toBe(true);
});
