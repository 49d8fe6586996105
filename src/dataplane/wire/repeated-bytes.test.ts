import { expect, test, vi } from 'vitest';
import { readBuffer, viewOf } from './read-buffer.ts';
import { enterRead, leaveRead, readClock } from './read-clock.ts';
import { RepeatedBytes } from './repeated-bytes.ts';

test.each([0, 1, 3, 4, 5, 7, 8, 33])(
  'a byte that differs is found among %i, in what was read and elsewhere',
  (length) => {
    const head = Buffer.from('GET / HTTP/1.1\r\nHost: example.org\r\n\r\n').subarray(0, length);
    const repeated = new RepeatedBytes(head);
    head.copy(readBuffer);
    const read = viewOf(length + 2);
    expect(repeated.isAt(read, 0)).toBe(true);
    expect(repeated.isAt(Buffer.concat([Buffer.from('xy'), head]), 2)).toBe(true);
    for (let i = 0; i < length; i++) {
      readBuffer[i]! ^= 1;
      expect(repeated.isAt(read, 0)).toBe(false);
      expect(repeated.isAt(Buffer.from(read), 0)).toBe(false);
      readBuffer[i]! ^= 1;
    }
    if (length > 0) expect(repeated.isAt(viewOf(length - 1), 0)).toBe(false);
  },
);

test('the clock stands still while a read is handled, and only then', () => {
  const now = vi
    .spyOn(performance, 'now')
    .mockReturnValueOnce(1)
    .mockReturnValueOnce(2)
    .mockReturnValueOnce(3)
    .mockReturnValueOnce(4);
  try {
    expect(readClock.now()).toBe(1);
    enterRead();
    expect([readClock.now(), readClock.now()]).toEqual([2, 2]);
    leaveRead();
    expect(readClock.now()).toBe(3);
    enterRead();
    expect(readClock.now()).toBe(4);
    leaveRead();
  } finally {
    now.mockRestore();
  }
});
