import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { BadFrame, encodeFrame, FrameReader, type WebSocketMessage } from './web-socket-frames.ts';

const MAX = 200_000;

function read(bytes: Buffer, pieces: readonly number[] = [], isMasked = true): WebSocketMessage[] {
  const reader = new FrameReader({ isMasked, maxMessageBytes: MAX });
  const messages: WebSocketMessage[] = [];
  let at = 0;
  for (const size of [...pieces, bytes.length]) {
    const chunk = Buffer.from(bytes.subarray(at, at + size));
    messages.push(...reader.take(chunk));
    chunk.fill(0); // a chunk is valid only during the call
    at += size;
  }
  return messages;
}

/** A frame as a client sends it, with whatever head. */
function frame(first: number, payload: Buffer | string): Buffer {
  const bytes = encodeFrame({ kind: 'binary', bytes: Buffer.from(payload) }, true);
  bytes[0] = first;
  return bytes;
}

function refusalOf(bytes: Buffer, isMasked = true): number | undefined {
  try {
    read(bytes, [], isMasked);
  } catch (error) {
    return error instanceof BadFrame ? error.code : undefined;
  }
  return undefined;
}

test('messages of any size come whole, wherever the chunks are cut', () => {
  const message = fc.oneof(
    fc.uint8Array({ maxLength: 300 }).map((bytes) => ({ kind: 'binary' as const, bytes: Buffer.from(bytes) })),
    fc.string({ unit: 'binary', maxLength: 90 }).map((text) => ({ kind: 'text' as const, text })),
    fc.uint8Array({ maxLength: 125 }).map((bytes) => ({ kind: 'ping' as const, bytes: Buffer.from(bytes) })),
  );
  fc.assert(
    fc.property(fc.array(message, { maxLength: 6 }), fc.array(fc.integer({ min: 1, max: 40 })), (sent, pieces) => {
      const bytes = Buffer.concat(sent.map((one) => encodeFrame(one, true)));
      expect(read(bytes, pieces)).toEqual(sent);
    }),
  );
});

test.each([0, 125, 126, 65_535, 65_536, MAX])('a message of %i bytes has the right length field', (size) => {
  const message = { kind: 'binary' as const, bytes: randomBytes(size) };
  expect(read(encodeFrame(message, true))).toEqual([message]);
  expect(read(encodeFrame(message, false), [], false)).toEqual([message]);
});

test('fragments are joined, with control frames between them', () => {
  const euro = Buffer.from('€');
  const bytes = Buffer.concat([
    frame(0x01, euro.subarray(0, 1)),
    frame(0x89, 'p'),
    frame(0x00, euro.subarray(1, 2)),
    frame(0x80, euro.subarray(2)),
  ]);
  expect(read(bytes)).toEqual([
    { kind: 'ping', bytes: Buffer.from('p') },
    { kind: 'text', text: '€' },
  ]);
});

test('a message beyond the limit is refused by its head, before its bytes come', () => {
  const head = encodeFrame({ kind: 'binary', bytes: Buffer.alloc(MAX + 1) }, true).subarray(0, 14);
  expect(refusalOf(head)).toBe(1009);
  const huge = Buffer.from(head);
  huge.fill(0xff, 2, 10);
  expect(refusalOf(huge)).toBe(1009);
  const half = Buffer.alloc(MAX / 2 + 1);
  expect(refusalOf(Buffer.concat([frame(0x02, half), frame(0x80, half)]))).toBe(1009);
});

test.each([
  ['no mask', encodeFrame({ kind: 'text', text: 'x' })],
  ['an extension bit', frame(0xc2, 'x')],
  ['an unknown opcode', frame(0x83, 'x')],
  ['an unknown control opcode', frame(0x8b, 'x')],
  ['a control frame in fragments', frame(0x09, 'x')],
  ['a continuation of nothing', frame(0x80, 'x')],
  ['a message within a message', Buffer.concat([frame(0x02, 'x'), frame(0x82, 'x')])],
  ['a long control frame', frame(0x89, Buffer.alloc(126))],
])('%s is a protocol error', (_, bytes) => expect(refusalOf(bytes)).toBe(1002));

test('a text message that is not UTF-8 is refused', () => {
  expect(refusalOf(frame(0x81, Buffer.from([0xff])))).toBe(1007);
});

test('random bytes never do anything but fail', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      try {
        read(Buffer.from(bytes), [3, 1, 7]);
      } catch (error) {
        expect(error).toBeInstanceOf(BadFrame);
      }
    }),
  );
});

test('a close frame carries its code, or none', () => {
  for (const code of [1000, null])
    expect(read(encodeFrame({ kind: 'close', code }, true))).toEqual([{ kind: 'close', code }]);
});
