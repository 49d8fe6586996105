import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { silentLogger } from '../logger.ts';
import { Loop, type NextRun } from './loop.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A loop that counts its runs; each run ends when the test says so. */
function gatedLoop(tickMs = 1000) {
  const gates: (() => void)[] = [];
  let atOnce = 0;
  let most = 0;
  const loop = new Loop({
    name: 'gated',
    tickMs,
    logger: silentLogger,
    runOnce: async () => {
      atOnce += 1;
      most = Math.max(most, atOnce);
      await new Promise<void>((resolve) => gates.push(resolve));
      atOnce -= 1;
      return undefined;
    },
  });
  const finishRun = async () => {
    gates.at(-1)!();
    await vi.advanceTimersByTimeAsync(0);
  };
  return { loop, finishRun, runs: () => gates.length, mostAtOnce: () => most };
}

function countingLoop(body: () => NextRun | undefined | Promise<NextRun | undefined>, tickMs = 1000) {
  let runs = 0;
  const loop = new Loop({
    name: 'counting',
    tickMs,
    logger: silentLogger,
    runOnce: async () => {
      runs += 1;
      return body();
    },
  });
  return { loop, runs: () => runs };
}

test('a loop runs at the start and then at every tick', async () => {
  const { loop, runs } = countingLoop(() => undefined);
  loop.start();
  await vi.advanceTimersByTimeAsync(0);
  expect(runs()).toBe(1);
  await vi.advanceTimersByTimeAsync(999);
  expect(runs()).toBe(1);
  await vi.advanceTimersByTimeAsync(2001);
  expect(runs()).toBe(4);
  await loop.stop();
});

test('a run that asks for a shorter delay gets it, and a longer one never delays the tick', async () => {
  const answers: NextRun[] = [{ inMs: 50 }, { inMs: 3_600_000 }];
  const { loop, runs } = countingLoop(() => answers.shift());
  loop.start();
  await vi.advanceTimersByTimeAsync(50);
  expect(runs()).toBe(2);
  await vi.advanceTimersByTimeAsync(1000);
  expect(runs()).toBe(3);
  await loop.stop();
});

test('wakes during a run lead to exactly one more run, right after it', async () => {
  const { loop, finishRun, runs, mostAtOnce } = gatedLoop();
  loop.start();
  await vi.advanceTimersByTimeAsync(0);
  for (let i = 0; i < 5; i++) loop.wake();
  expect(runs()).toBe(1);
  await finishRun();
  expect(runs()).toBe(2);
  await finishRun();
  expect(runs()).toBe(2);
  expect(mostAtOnce()).toBe(1);
  await loop.stop();
});

test('a wake between runs brings the next one forward', async () => {
  const { loop, runs } = countingLoop(() => undefined, 60_000);
  loop.start();
  await vi.advanceTimersByTimeAsync(10);
  loop.wake();
  await vi.advanceTimersByTimeAsync(0);
  expect(runs()).toBe(2);
  await loop.stop();
});

test('an error is logged once and delays the next run by a growing pause that a wake does not shorten', async () => {
  const failures: number[] = [];
  const logger = {
    ...silentLogger,
    error: (fields: object) => failures.push((fields as { failures: number }).failures),
  };
  let isBroken = true;
  let runs = 0;
  const loop = new Loop({
    name: 'failing',
    tickMs: 60_000,
    logger,
    runOnce: async () => {
      runs += 1;
      if (isBroken) throw new Error('broken');
      return undefined;
    },
  });
  loop.start();
  await vi.advanceTimersByTimeAsync(0);
  for (const pauseMs of [100, 200, 400, 800]) {
    const before = runs;
    loop.wake();
    await vi.advanceTimersByTimeAsync(pauseMs - 1);
    loop.wake();
    expect(runs).toBe(before);
    await vi.advanceTimersByTimeAsync(1);
    expect(runs).toBe(before + 1);
  }
  expect(failures).toEqual([1]);
  loop.retry();
  await vi.advanceTimersByTimeAsync(0);
  expect(runs).toBe(6); // at once, without the pause

  isBroken = false;
  await vi.advanceTimersByTimeAsync(10_000);
  const before = runs;
  loop.wake();
  await vi.advanceTimersByTimeAsync(0);
  expect(runs).toBe(before + 1);
  await loop.stop();
});

test.each([
  ['forward', 86_400_000],
  ['back', -86_400_000],
])(
  'a wall clock that jumps a day %s neither delays nor hastens a run, nor a pause after an error',
  async (_, jumpMs) => {
    let isBroken = false;
    const { loop, runs } = countingLoop(() => (isBroken ? Promise.reject(new Error('broken')) : { inMs: 500 }), 60_000);
    loop.start();
    await vi.advanceTimersByTimeAsync(0);
    vi.setSystemTime(Date.now() + jumpMs);
    await vi.advanceTimersByTimeAsync(499);
    expect(runs()).toBe(1);
    isBroken = true;
    await vi.advanceTimersByTimeAsync(1);
    expect(runs()).toBe(2);
    vi.setSystemTime(Date.now() + jumpMs);
    loop.wake();
    await vi.advanceTimersByTimeAsync(99);
    expect(runs()).toBe(2);
    await vi.advanceTimersByTimeAsync(1);
    expect(runs()).toBe(3);
    await loop.stop();
  },
);

test('the pause never exceeds ten seconds', async () => {
  const { loop, runs } = countingLoop(() => Promise.reject(new Error('broken')), 60_000);
  loop.start();
  await vi.advanceTimersByTimeAsync(120_000);
  const before = runs();
  await vi.advanceTimersByTimeAsync(10_000);
  expect(runs()).toBe(before + 1);
  await loop.stop();
});

test('stop waits for the run in progress, and nothing runs afterwards', async () => {
  const { loop, finishRun, runs } = gatedLoop();
  loop.start();
  await vi.advanceTimersByTimeAsync(0);
  loop.wake();
  let isStopped = false;
  const stopped = loop.stop().then(() => {
    isStopped = true;
  });
  await vi.advanceTimersByTimeAsync(10);
  expect(isStopped).toBe(false);
  await finishRun();
  await stopped;
  loop.wake();
  await vi.advanceTimersByTimeAsync(10_000);
  expect(runs()).toBe(1);
});

test('a loop that was never started runs once per call of runOnce', async () => {
  const { loop, runs } = countingLoop(() => ({ inMs: 0 }));
  loop.wake();
  await loop.runOnce();
  await vi.advanceTimersByTimeAsync(10_000);
  expect(runs()).toBe(1);
});

test('wakes within the pause lead to one run at its end, and one after a quiet time runs at once', async () => {
  let runs = 0;
  let pauseMs = 100;
  const runOnce = async () => {
    runs += 1;
    return undefined;
  };
  const loop = new Loop({ name: 'paused', tickMs: 10_000, logger: silentLogger, pauseMs: () => pauseMs, runOnce });
  loop.start();
  for (let i = 0; i < 9; i++) {
    await vi.advanceTimersByTimeAsync(10);
    loop.wake();
  }
  expect(runs).toBe(1);
  await vi.advanceTimersByTimeAsync(10);
  expect(runs).toBe(2);
  await vi.advanceTimersByTimeAsync(500);
  loop.wake();
  await vi.advanceTimersByTimeAsync(0);
  expect(runs).toBe(3);
  pauseMs = 0;
  loop.wake();
  await vi.advanceTimersByTimeAsync(0);
  expect(runs).toBe(4);
  await loop.stop();
});

test('hints that arrive together are seen by one run', async () => {
  const seen: number[][] = [];
  let hints: number[] = [];
  const runOnce = async () => {
    seen.push(hints);
    hints = [];
    return undefined;
  };
  const loop = new Loop({ name: 'hinted', tickMs: 10_000, logger: silentLogger, runOnce });
  loop.start();
  await vi.advanceTimersByTimeAsync(0);
  for (const hint of [1, 2, 3]) {
    hints.push(hint);
    loop.wake();
  }
  await vi.advanceTimersByTimeAsync(0);
  expect(seen).toEqual([[], [1, 2, 3]]);
  await loop.stop();
});

test('a loop that is stopped before its run has begun does not run', async () => {
  const { loop, runs } = countingLoop(() => undefined);
  loop.start();
  await loop.stop();
  expect(runs()).toBe(0);
});
