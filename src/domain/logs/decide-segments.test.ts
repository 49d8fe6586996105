import { expect, test } from 'vitest';
import { decideSegments } from './decide-segments.ts';
import { SEGMENT_NUMBERS } from './log-segments.ts';

const DAY_MS = 86_400_000;
const MIB = 2 ** 20;
const NOW_MS = 1_000 * DAY_MS;
const limits = { retentionMs: 32 * DAY_MS, maxBytes: 1_024 * MIB };

/** Segments that began so many days ago, with their sizes in MiB. */
function decide(
  given: readonly (readonly [daysAgo: number, mib: number])[],
  { freeBytes = null, lastSeq }: { freeBytes?: number | null; lastSeq?: number } = {},
) {
  const segments = given.map(([daysAgo, mib], i) => ({
    firstSeq: i * SEGMENT_NUMBERS,
    endSeq: (i + 1) * SEGMENT_NUMBERS,
    begunAt: new Date(NOW_MS - daysAgo * DAY_MS),
    bytes: mib * MIB,
  }));
  const newest = segments.at(-1)!.firstSeq;
  return decideSegments({ segments, lastSeq: lastSeq ?? newest + 1, nowMs: NOW_MS, freeBytes }, limits);
}

test.each([
  { why: 'young and small', given: [[1, 10]], begins: false, drop: [] },
  { why: 'a sixteenth of the size', given: [[1, 65]], begins: true, drop: [] },
  { why: 'a sixteenth of the time', given: [[2.1, 1]], begins: true, drop: [] },
  {
    why: 'within both',
    given: [
      [33, 60],
      [31, 60],
      [1, 10],
    ],
    begins: false,
    drop: [],
  }, // prettier-ignore
  {
    why: 'its last line is too old',
    given: [
      [36, 60],
      [33, 60],
      [31, 60],
      [1, 10],
    ],
    begins: false,
    drop: [0],
  }, // prettier-ignore
  {
    why: 'larger together than allowed',
    given: [
      [5, 500],
      [4, 500],
      [1, 30],
    ],
    begins: false,
    drop: [0],
  }, // prettier-ignore
  { why: 'just one that is too large', given: [[1, 2_000]], begins: true, drop: [0] },
  { why: 'the only one is too old', given: [[70, 1]], begins: true, drop: [] },
] as const)('$why', ({ given, begins, drop }) => {
  expect(decide(given)).toEqual({ begins, drop: drop.map((index) => index * SEGMENT_NUMBERS) });
});

test('a segment without lines is kept, however old it is', () => {
  expect(decide([[40, 0]], { lastSeq: -1 })).toEqual({ begins: false, drop: [] });
});

test('a segment whose numbers run out is followed by another one in time', () => {
  expect(decide([[1, 10]], { lastSeq: SEGMENT_NUMBERS / 2 - 1 }).begins).toBe(false);
  expect(decide([[1, 10]], { lastSeq: SEGMENT_NUMBERS / 2 }).begins).toBe(true);
});

test('on a disk that fills up, logs take half of what there would be without them', () => {
  const given = [
    [9, 60],
    [8, 60],
    [7, 60],
    [6, 10],
  ] as const; // prettier-ignore
  expect(decide(given, { freeBytes: 1_000 * MIB }).drop).toEqual([]);
  expect(decide(given, { freeBytes: 100 * MIB }).drop).toEqual([0]);
  expect(decide(given, { freeBytes: 0 }).drop).toEqual([0, SEGMENT_NUMBERS]);
});

test('the newest one stays, whatever the disk', () => {
  expect(decide([[1, 0.5]], { freeBytes: 0 })).toEqual({ begins: false, drop: [] });
});
