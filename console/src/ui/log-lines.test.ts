import { expect, test } from 'vitest';
import { appendLine, isAtEnd, type LogLine, logPath, MAX_LINES, timeOfLine } from './log-lines.ts';

const line = (text: string): LogLine => ({ source: 'container', line: text, ts: '2026-11-20T10:02:11.482913Z' });

test('a log streams all sources unless one is chosen', () => {
  expect(logPath('/v2/pods/p1/logs', 'all')).toBe('/v2/pods/p1/logs?tail=500');
  expect(logPath('/v2/pods/p1/logs', 'system')).toBe('/v2/pods/p1/logs?tail=500&source=system');
});

test('a full log drops its oldest line', () => {
  let lines: readonly LogLine[] = [];
  for (let number = 0; number <= MAX_LINES; number++) lines = appendLine(lines, line(`${number}`));
  expect(lines).toHaveLength(MAX_LINES);
  expect([lines[0]!.line, lines.at(-1)!.line]).toEqual(['1', `${MAX_LINES}`]);
});

test('a line shows its time of day with milliseconds', () => {
  expect(timeOfLine(line('x'))).toBe('10:02:11.482');
});

test('a log follows until the reader scrolls up by more than a few lines', () => {
  expect(isAtEnd({ scrollTop: 600, scrollHeight: 1_000, clientHeight: 400 })).toBe(true);
  expect(isAtEnd({ scrollTop: 570, scrollHeight: 1_000, clientHeight: 400 })).toBe(true);
  expect(isAtEnd({ scrollTop: 500, scrollHeight: 1_000, clientHeight: 400 })).toBe(false);
});
