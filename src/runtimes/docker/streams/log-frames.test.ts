import { expect, test } from 'vitest';
import { LogPlace } from '../../log-lines.ts';
import { LogFrames } from './container-logs.ts';

function frame(stream: number, text: string): Buffer {
  const body = Buffer.from(text);
  const header = Buffer.from([stream, 0, 0, 0, 0, 0, 0, 0]);
  header.writeUInt32BE(body.length, 4);
  return Buffer.concat([header, body]);
}

test('lines are whole wherever the chunks are split', () => {
  const data = Buffer.concat([
    frame(1, '2026-01-01T00:00:00.123456789Z grüße\n'),
    frame(2, '2026-01-01T00:00:00.124000001Z half '),
    frame(1, '2026-01-01T00:00:00.125000000Z between\n'),
    frame(2, '2026-01-01T00:00:00.126000000Z and half\n'),
    frame(1, '2026-01-01T00:00:00.127000000Z \n'),
    frame(1, '2026-01-01T00:00:00.128000000Z open'),
  ]);
  for (let size = 1; size <= data.length; size += 7) {
    const frames = new LogFrames();
    const lines = [];
    for (let at = 0; at < data.length; at += size) lines.push(...frames.take(data.subarray(at, at + size)));
    lines.push(...frames.end());
    expect(lines.map(({ ts, line }) => [ts.getMilliseconds(), line])).toEqual([
      [123, 'grüße'],
      [125, 'between'],
      [124, 'half and half'],
      [127, ''],
      [128, 'open'],
    ]);
  }
});

test('a second pass returns only what the first has not, also within one millisecond', () => {
  const lines = [1, 2, 2, 2, 3].map((ms, i) => ({ ts: new Date(ms), line: String(i) }));
  const place = new LogPlace({ since: new Date(1), seen: 1 });
  expect(place.beginPass()).toEqual({ since: 0.001 });
  expect(
    lines
      .slice(0, 3)
      .filter((line) => place.pass(line))
      .map(({ line }) => line),
  ).toEqual(['1', '2']);
  expect(place.beginPass()).toEqual({ since: 0.002 });
  expect(
    lines
      .slice(1)
      .filter((line) => place.pass(line))
      .map(({ line }) => line),
  ).toEqual(['3', '4']);
});

test('a line older than the one before it is not lost within a pass', () => {
  const place = new LogPlace({});
  place.beginPass();
  expect([5, 4, 5].map((ms) => place.pass({ ts: new Date(ms), line: '' }))).toEqual([true, true, true]);
});
