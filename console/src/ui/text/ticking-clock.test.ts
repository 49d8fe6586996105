import { expect, test } from 'vitest';
import { TickingClock } from './ticking-clock.ts';

function clockWith() {
  const seen = { started: 0, running: 0 };
  let tick = () => {};
  const clock = new TickingClock({
    now: () => 7,
    startTicking(given) {
      tick = given;
      seen.started += 1;
      seen.running += 1;
      return () => {
        seen.running -= 1;
      };
    },
  });
  return { clock, seen, tick: () => tick() };
}

test('any number of listeners share one timer, which ends with the last of them', () => {
  const { clock, seen, tick } = clockWith();
  const heard: string[] = [];
  const ends = ['a', 'b'].map((name) => clock.subscribe(() => heard.push(name)));
  tick();
  expect(heard).toEqual(['a', 'b']);
  ends[0]!();
  tick();
  expect(heard).toEqual(['a', 'b', 'b']);
  expect(seen).toEqual({ started: 1, running: 1 });
  ends[1]!();
  expect(seen.running).toBe(0);
  clock.subscribe(() => {});
  expect(seen).toEqual({ started: 2, running: 1 });
});
