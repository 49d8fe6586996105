import fc from 'fast-check';
import { expect, test } from 'vitest';
import { AGING_MS, type BatchFacts, decideBatch, numbersAt, WINDOW } from './decide-batch.ts';

const NOW = 1_000_000_000;
const fresh: BatchFacts = {
  ...{ received: 10_000, accepted: 10_000, fedTo: 0, fed: 0, queued: 0, aged: 0, leased: 0, completed: 0 },
  ...{ isPaused: false, isCancelling: false, oldestQueuedAt: null, siblings: 1, workersMax: 3, budget: null },
  limits: { queuedJobs: null, queuedBytes: null },
  ...{ userQueued: 0, userQueuedBytes: 0 },
};
const budget = { amount: '5', isOfEndpoint: false, isByAdmin: false, until: '2026-12-01' };
const usedUp = 'the monthly budget of 5 USD is used up; it is renewed on 2026-12-01 (UTC)';
const decide = (change: Partial<BatchFacts> = {}) => decideBatch({ ...fresh, ...change }, NOW);

test.each<[string, Partial<BatchFacts>, object]>([
  ['a new batch fills its window', {}, { do: 'feed', places: WINDOW }],
  ['a full window waits', { queued: WINDOW }, { do: 'wait', reason: null }],
  ['nearly full waits, too: a few at a time would cost a statement each', { queued: WINDOW - 10 }, { do: 'wait' }],
  ['half a window is filled up', { queued: WINDOW / 2 }, { do: 'feed', places: WINDOW / 2 }],
  ['batches of an endpoint share its window', { siblings: 5 }, { do: 'feed', places: WINDOW / 5 }],
  ['one worker has half of its queue', { workersMax: 1 }, { do: 'feed', places: 250 }],
  ['no worker: says why', { workersMax: 0 }, { do: 'wait', reason: 'workers.max is 0, so nothing runs' }],
  ['a budget is used up: queues no more, and says why', { budget, queued: 9 }, { do: 'wait', reason: usedUp }],
  ['the same with all of it queued', { budget, fedTo: 10_000, queued: 9 }, { do: 'wait', reason: usedUp }],
  [
    'all of it queued, and no worker: says why',
    { workersMax: 0, fedTo: 10_000, queued: 9 },
    { do: 'wait', reason: 'workers.max is 0, so nothing runs' },
  ],
  ['paused: says why', { isPaused: true }, { do: 'wait', reason: 'the batch is paused' }],
  ['a user limit leaves half to interactive jobs', { limits: { queuedJobs: 100, queuedBytes: null } }, { places: 50 }],
  [
    'a limit that is used up says so',
    { limits: { queuedJobs: 100, queuedBytes: null }, userQueued: 80 },
    {
      do: 'wait',
      reason: "batches use at most half of the limit 'queuedJobs' of 100, and 80 jobs are queued",
    },
  ],
  ['a limit of bytes bounds a portion', { limits: { queuedJobs: null, queuedBytes: 1000 } }, { maxBytes: 500 }],
  [
    'a limit of one job still runs a batch',
    { limits: { queuedJobs: 1, queuedBytes: null } },
    { do: 'feed', places: 1 },
  ],
  ['cancelled with queued jobs: takes them back', { isCancelling: true, queued: 3, leased: 1 }, { do: 'withdraw' }],
  ['cancelled with running jobs: waits', { isCancelling: true, leased: 1 }, { do: 'wait', reason: null }],
  ['cancelled and drained: ends', { isCancelling: true }, { do: 'end', status: 'CANCELLED' }],
  ['fed, still running: waits', { fedTo: 10_000, leased: 1 }, { do: 'wait', reason: null }],
  ['done: ends', { fedTo: 10_000, completed: 1 }, { do: 'end', status: 'COMPLETED', reason: null }],
  [
    'done, and nothing completed: fails',
    { fedTo: 10_000 },
    { do: 'end', status: 'FAILED', reason: 'none of its 10000 requests completed' },
  ],
  ['a job that waited long is promoted', { queued: 9, oldestQueuedAt: NOW - AGING_MS }, { do: 'promote' }],
  ['one at a time', { queued: 9, aged: 1, oldestQueuedAt: NOW - AGING_MS, fedTo: 10_000 }, { do: 'wait' }],
  ['more with many workers', { queued: 9, aged: 1, workersMax: 20, oldestQueuedAt: NOW - AGING_MS }, { do: 'promote' }],
])('%s', (_name, change, action) => {
  expect(decide(change)).toMatchObject(action);
});

test('every number is at exactly one place, in order or spread', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 3_000 }),
      fc.integer({ min: 1, max: 700 }),
      fc.boolean(),
      (total, portion, isOrdered) => {
        const seen: number[] = [];
        for (let from = 0; from < total; from += portion) seen.push(...numbersAt(from, portion, { total, isOrdered }));
        const sorted = [...seen].sort((a, b) => a - b);
        expect(sorted).toEqual(Array.from({ length: total }, (_, i) => i + 1));
        if (isOrdered) expect(seen).toEqual(sorted);
      },
    ),
  );
});

test('the first hundred of a batch without order are a sample of all of it', () => {
  const first = numbersAt(0, 100, { total: 1_000_000, isOrdered: false });
  const tenths = new Set(first.map((number) => Math.floor((number - 1) / 100_000)));
  expect(tenths.size).toBe(10);
});

/**
 * One worker, an endless backlog of interactive jobs, and a batch: runs a second per job and looks at the batch after each.
 * Interactive jobs are taken first, oldest first, as the queue does.
 */
function simulate({ total, seconds, interactive }: { total: number; seconds: number; interactive: number }) {
  let [clock, started, fed, served] = [NOW, 0, 0, 0];
  const low: { number: number; at: number }[] = [];
  const normal: (number | null)[] = Array.from({ length: interactive }, () => null);
  const order: number[] = [];
  for (let second = 0; second < seconds && started < total; second++) {
    for (;;) {
      const aged = normal.filter((number) => number !== null).length;
      const oldestQueuedAt = low[0]?.at ?? null;
      const facts = { ...fresh, received: total, accepted: total, fedTo: fed, fed, workersMax: 1, aged };
      const action = decideBatch({ ...facts, queued: low.length, leased: 1, oldestQueuedAt }, clock);
      if (action.do === 'feed') {
        const numbers = numbersAt(fed, action.places, { total, isOrdered: true });
        low.push(...numbers.map((number) => ({ number, at: clock })));
        fed += numbers.length;
      } else if (action.do === 'promote') normal.push(low.shift()!.number);
      else break;
    }
    const taken = normal.length > 0 ? normal.shift()! : (low.shift()?.number ?? null);
    if (taken === null) {
      served += 1;
      if (interactive > 0) normal.push(null);
    } else {
      started += 1;
      order.push(taken);
    }
    clock += 1_000;
  }
  return { order, started, served };
}

test('an interactive backlog that never ends does not starve a batch, and keeps nearly all of the worker', () => {
  fc.assert(
    fc.property(fc.integer({ min: 5, max: 60 }), (interactive) => {
      const seconds = AGING_MS / 1000 + 3_600;
      const { started, served, order } = simulate({ total: 5_000, seconds, interactive });
      expect(started).toBeGreaterThanOrEqual(Math.floor(3_600 / (interactive + 1)) - 1);
      expect(served).toBeGreaterThanOrEqual(AGING_MS / 1000);
      expect(started / (started + served)).toBeLessThan(1 / interactive);
      expect(order).toEqual([...order].sort((a, b) => a - b));
    }),
    { numRuns: 20 },
  );
});

test('what interactive jobs leave goes to the batch, in its order', () => {
  const { order, started } = simulate({ total: 800, seconds: 2_000, interactive: 0 });
  expect(started).toBe(800);
  expect(order).toEqual([...order].sort((a, b) => a - b));
});
