import { expect, test } from 'vitest';
import { formatEventId, parseEventId } from './log-line.ts';

const TS = new Date('2026-02-03T04:05:06.789Z');

test('an event id is the time and twelve digits of sequence, and reads back as the sequence', () => {
  const id = formatEventId({ seq: 42, ts: TS });
  expect(id).toBe('2026-02-03T04:05:06.789Z/000000000042');
  expect(parseEventId(id)).toEqual({ afterSeq: 42 });
});

test('a bare timestamp, with any offset, is a position in time', () => {
  expect(parseEventId('2026-02-03T05:05:06.789+01:00')).toEqual({ afterTs: TS });
});

test.each([
  '',
  '42',
  '000000000042',
  '2026-02-03',
  '2026-02-03T04:05:06Z/42',
  '2026-13-03T04:05:06Z',
  'x/000000000042',
])('%j is no event id', (text) => {
  expect(parseEventId(text)).toBeUndefined();
});
