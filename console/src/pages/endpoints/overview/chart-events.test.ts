import { expect, test } from 'vitest';
import type { Schemas } from '../../../api/client.ts';
import { chartEvents, chartMarks, groupEvents, KEPT_DECISIONS } from './chart-events.ts';

type Decision = Schemas['DecisionList']['decisions'][number];
const START = Date.parse('2026-11-20T10:00:00Z');
const MINUTE = 60_000;
const iso = (minute: number) => new Date(START + minute * MINUTE).toISOString();
const point = (minute: number, counts: object) => ({
  ...{ at: iso(minute), coldStarts: 0, workersEnded: 0, workersLost: 0 },
  ...counts,
});
const history = (...points: object[]) =>
  ({ from: iso(0), until: iso(60), stepSeconds: 60, points }) as unknown as Schemas['History'];
const release = (version: number, minute: number, ...fields: string[]) =>
  ({ version, createdAt: iso(minute), diff: fields.map((field) => ({ field })) }) as Schemas['Release'];
const decision = (minute: number, kinds: Decision['actions'][number]['kind'][], reason = 'why'): Decision =>
  ({ at: iso(minute), reason, actions: kinds.map((kind) => ({ kind })) }) as Decision;

test('releases and decisions of the period are listed, the newest first', () => {
  const failed = 'it exited with code 1:\nTraceback\nCUDA out of memory';
  const events = chartEvents(
    history(),
    [release(3, 30, 'image', 'env'), release(2, -5), release(1, 1)],
    [decision(50, ['exit'], failed), decision(40, ['start', 'start', 'drain']), decision(61, ['start'])],
  );
  expect(events.map(({ kind, title, reason }) => [kind, title, reason])).toEqual([
    ['lost', '1 worker ended unexpectedly', 'CUDA out of memory'],
    ['scaling', '2 workers started, 1 worker stopped after their work', 'why'],
    ['release', 'Version 3', 'changed: image, env'],
    ['release', 'Version 1', 'first release'],
  ]);
});

test('before the last decisions that are kept, events are the counts of the history', () => {
  const points = [
    point(5, { coldStarts: 3, workersEnded: 3, workersLost: 1 }),
    point(6, {}),
    point(55, { coldStarts: 9 }),
  ];
  const many = Array.from({ length: KEPT_DECISIONS }, () => decision(50, ['start']));
  const events = chartEvents(history(...points), [], many);
  expect(events).toHaveLength(KEPT_DECISIONS + 1);
  expect(events.at(-1)).toMatchObject({
    kind: 'lost',
    title: '3 workers became ready, 2 workers ended, 1 worker ended unexpectedly',
  });
  expect(chartEvents(history(...points), [], many.slice(1))).toHaveLength(KEPT_DECISIONS - 1);
});

test('marks belong to the point of their time; releases and losses are lines, one per point', () => {
  const events = chartEvents(history(), [release(2, 30.5)], [decision(30.9, ['exit']), decision(10, ['start'])]);
  expect(chartMarks(events, 60)).toEqual([
    { at: START + 30 * MINUTE, text: '1 worker ended unexpectedly: why', line: { label: 'lost', isBad: true } },
    { at: START + 30 * MINUTE, text: 'Version 2' },
    { at: START + 10 * MINUTE, text: '1 worker started: why' },
  ]);
});

test('groups keep their place in the period, and show the kind that stands out most', () => {
  const events = chartEvents(history(), [release(2, 31)], [decision(30, ['exit']), decision(3, ['start'])]);
  const groups = groupEvents(events, history(), 10);
  expect(groups.map(({ position, kind, events: members }) => [position, kind, members.length])).toEqual([
    [0.05, 'scaling', 1],
    [0.55, 'release', 2],
  ]);
});
