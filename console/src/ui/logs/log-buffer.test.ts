import { expect, test } from 'vitest';
import { LogBuffer, type LogLine, MAX_LINES } from './log-buffer.ts';

const line = (id: number): LogLine => ({
  id: `${id}`,
  workerId: null,
  source: 'container',
  level: null,
  line: `${id}`,
  ts: '',
});
const fill = (buffer: LogBuffer, from: number, count: number) => {
  for (let id = from; id < from + count; id++) buffer.add(line(id));
  buffer.flush();
};
const ids = (buffer: LogBuffer) => buffer.snapshot().lines.map(({ id }) => Number(id));

test('lines are shown in batches: listeners hear of a thousand once', () => {
  const buffer = new LogBuffer();
  let heard = 0;
  buffer.subscribe(() => heard++);
  fill(buffer, 0, 1_000);
  expect(ids(buffer)).toHaveLength(1_000);
  expect(heard).toBe(1);
  expect(buffer.flush()).toBe(false);
  expect(heard).toBe(1);
});

test('a followed log drops its oldest lines; one that is read keeps them', () => {
  const buffer = new LogBuffer();
  fill(buffer, 0, MAX_LINES + 10);
  expect(ids(buffer)[0]).toBe(10);
  buffer.follow(false);
  fill(buffer, MAX_LINES + 10, 100);
  expect(ids(buffer)[0]).toBe(10);
  buffer.follow(true);
  fill(buffer, MAX_LINES + 110, 1);
  expect(ids(buffer)).toHaveLength(MAX_LINES);
});

test('a pause holds lines back and counts them; resuming shows them all', () => {
  const buffer = new LogBuffer();
  fill(buffer, 0, 2);
  buffer.pause(true);
  fill(buffer, 2, 3);
  expect(ids(buffer)).toEqual([0, 1]);
  expect(buffer.snapshot().waiting).toBe(3);
  buffer.pause(false);
  expect(ids(buffer)).toEqual([0, 1, 2, 3, 4]);
  expect(buffer.snapshot().waiting).toBe(0);
});

test('older lines that were loaded stay while the log is followed', () => {
  const buffer = new LogBuffer();
  fill(buffer, 100, MAX_LINES);
  buffer.prepend([line(98), line(99)]);
  expect(ids(buffer).slice(0, 3)).toEqual([98, 99, 100]);
  fill(buffer, 100 + MAX_LINES, 1);
  expect(ids(buffer)).toHaveLength(MAX_LINES + 2);
});

test('another log starts empty', () => {
  const buffer = new LogBuffer();
  fill(buffer, 0, 2);
  buffer.add(line(9));
  buffer.clear();
  buffer.flush();
  expect(ids(buffer)).toEqual([]);
});

test('a log whose older lines cannot be loaded again keeps as many as it is told, followed or not', () => {
  const buffer = new LogBuffer(MAX_LINES + 10);
  fill(buffer, 0, MAX_LINES + 11);
  expect([ids(buffer).length, ids(buffer)[0]]).toEqual([MAX_LINES + 10, 1]);
  buffer.follow(false);
  fill(buffer, MAX_LINES + 11, 1);
  expect([ids(buffer).length, ids(buffer)[0]]).toEqual([MAX_LINES + 10, 2]);
});
