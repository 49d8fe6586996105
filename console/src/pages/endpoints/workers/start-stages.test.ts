import { expect, test } from 'vitest';
import { segmentsOf, startMs, type Timeline, timelineText } from './start-stages.ts';

const START = Date.parse('2026-11-20T10:00:00Z');
const at = (second: number) => new Date(START + second * 1_000).toISOString();
const timeline: Timeline = [
  { stage: 'capacity', from: at(0), to: at(2), ms: 2_000 },
  { stage: 'pull', from: at(2), to: null, ms: null },
];
const NOW = START + 8_000;

test('a stage that lasts counts until now', () => {
  expect(startMs(timeline, NOW)).toBe(8_000);
  expect(startMs([], NOW)).toBe(0);
});

test('bars are drawn beside the longest start', () => {
  expect(segmentsOf(timeline, 16_000, NOW)).toEqual([
    { key: `capacity${at(0)}`, stage: 'capacity', percent: 12.5 },
    { key: `pull${at(2)}`, stage: 'pull', percent: 37.5 },
  ]);
});

test('a start is also text', () => {
  expect(timelineText(timeline, NOW)).toBe('Wait for capacity 2.0 s, pull image 6.0 s');
});
