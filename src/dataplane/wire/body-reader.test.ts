import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BodyReader } from './body-reader.ts';
import type { BodyLength } from './client-exchange.ts';
import { BadHead } from './message-head.ts';

/** Reads a message in pieces of these sizes. */
function read(length: BodyLength, bytes: string, sizes: readonly number[] = [bytes.length]) {
  const reader = new BodyReader(length);
  const all = Buffer.from(bytes, 'latin1');
  let body = '';
  let used = 0;
  for (let at = 0, i = 0; at < all.length && !reader.isDone; i++) {
    const piece = all.subarray(at, at + Math.max(1, sizes[i % sizes.length]!));
    used += reader.read(piece, (data) => {
      body += data.toString('latin1');
    });
    at += piece.length;
  }
  return { body, used, isDone: reader.isDone, trailers: reader.trailers };
}

describe('the body of a message', () => {
  it('ends after its length, and leaves what follows', () => {
    expect(read(5, 'helloGET / HTTP/1.1')).toMatchObject({ body: 'hello', used: 5, isDone: true });
    expect(read(5, 'hell')).toMatchObject({ body: 'hell', isDone: false });
  });

  it('ends with its last chunk, however the reads are split', () => {
    const message = '5\r\nhello\r\n006;ext="a"\r\n world\r\n0\r\nX-Sum: 1\r\nContent-Length: 9\r\n\r\n';
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 20 }), { minLength: 1 }), (sizes) => {
        const { body, isDone, trailers } = read('chunked', message, sizes);
        expect({ body, isDone, trailers }).toEqual({ body: 'hello world', isDone: true, trailers: ['X-Sum', '1'] });
      }),
    );
    expect(read('chunked', `${message}GET`).used).toBe(message.length);
  });

  it.each([
    ['no size', '\r\nhello\r\n'],
    ['an invalid size', 'g\r\n'],
    ['a sign', '+5\r\nhello\r\n'],
    ['a prefix', '0x5\r\nhello\r\n'],
    ['a space before the size', ' 5\r\nhello\r\n'],
    ['a bare LF after the size', '5\nhello\r\n'],
    ['a bare LF after the data', '5\r\nhello\n'],
    ['a bare CR in an extension', '5;a\rb\r\nhello\r\n'],
    ['a NUL in an extension', '5;\0\r\nhello\r\n'],
    ['more data than its size', '5\r\nhello!\r\n'],
    ['a size out of range', 'ffffffffffffffff1\r\n'],
    ['an endless size line', `5;${'a'.repeat(2000)}`],
    ['endless trailers', `0\r\n${'X-A: b\r\n'.repeat(4000)}`],
    ['a bare LF in the trailers', '0\r\nX-A: b\nX-B: c\r\n\r\n'],
    ['an invalid trailer', '0\r\nGET / HTTP/1.1\r\n\r\n'],
    ['a folded trailer', '0\r\nX-A: b\r\n c\r\n\r\n'],
  ])('is refused with a chunk that has %s', (_, message) => {
    expect(() => read('chunked', message)).toThrow(BadHead);
    expect(() => read('chunked', message, [1])).toThrow(BadHead);
  });
});
