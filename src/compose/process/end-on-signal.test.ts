import { beforeEach, expect, test } from 'vitest';
import { endOnSignal } from './end-on-signal.ts';

const calls: string[] = [];
const clock = { time: 0, now: () => clock.time };
let signal: () => void;
beforeEach(() => {
  calls.length = 0;
  clock.time = 0;
  signal = endOnSignal(
    () => calls.push('stop'),
    () => calls.push('exit'),
    clock,
  );
});

test('a second signal right after the first is the same Ctrl-C, passed on by npm', () => {
  signal();
  clock.time = 1_000;
  signal();
  expect(calls).toEqual(['stop']);
});

test('a third signal exits at once', () => {
  for (let n = 0; n < 3; n++) signal();
  expect(calls).toEqual(['stop', 'exit']);
});

test('a second signal that comes later exits at once', () => {
  signal();
  clock.time = 2_000;
  signal();
  expect(calls).toEqual(['stop', 'exit']);
});
