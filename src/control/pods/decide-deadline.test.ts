import { expect, test } from 'vitest';
import { decideDeadline } from './decide-pod.ts';

const NOON = Date.parse('2026-03-04T12:00:00.000Z');
const at = (ms: number) => new Date(NOON + ms);
const POD = { stopAt: null, terminateAt: null, isUp: true, isLocked: false };

test.each([
  ['neither time', {}, 'nothing'],
  ['a stop in a moment', { stopAt: at(1) }, 'nothing'],
  ['a stop now', { stopAt: at(0) }, 'stop'],
  ['a stop long ago', { stopAt: at(-1e9) }, 'stop'],
  ['a stop while it is locked', { stopAt: at(0), isLocked: true }, 'nothing'],
  ['a stop while it does not run', { stopAt: at(0), isUp: false }, 'forget'],
  ['a stop while it is locked and does not run', { stopAt: at(0), isUp: false, isLocked: true }, 'forget'],
  ['an end in a moment', { terminateAt: at(1) }, 'nothing'],
  ['an end now', { terminateAt: at(0) }, 'terminate'],
  ['an end while it is locked', { terminateAt: at(0), isLocked: true }, 'terminate'],
  ['an end while it does not run', { terminateAt: at(0), isUp: false }, 'terminate'],
  ['both now', { stopAt: at(0), terminateAt: at(0) }, 'terminate'],
  ['a stop now and an end later', { stopAt: at(0), terminateAt: at(1) }, 'stop'],
])('a pod with %s', (_, pod, action) => {
  expect(decideDeadline({ ...POD, ...pod }, NOON).do).toBe(action);
});

test('the reason names the field and the time', () => {
  expect(decideDeadline({ ...POD, stopAt: at(-1) }, NOON)).toEqual({
    do: 'stop',
    reason: 'stopAfter was 2026-03-04T11:59:59.999Z',
  });
});
