import fc from 'fast-check';
import { expect, test } from 'vitest';
import { decideWorkers } from './decide-workers.ts';
import type { Demand, ScalingInput } from './situation.ts';

const NOW = 1_000_000_000;
const QUIET: Demand = { queued: 0, queuedLowPriority: 0, inProgress: 0, oldestQueuedAt: null };

function input(demand: Partial<Demand>, change: Partial<ScalingInput['endpoint']> = {}): ScalingInput {
  return {
    endpoint: {
      ...{ min: 0, max: 5, scaler: { type: 'QUEUE_DELAY', value: 4 }, idleTimeoutMs: 5_000, version: 1 },
      ...{ flashboot: 'OFF', isRolloutPaused: false, ...change },
    },
    demand: { ...QUIET, ...demand },
    workers: [],
    failedStarts: null,
    frozenMemory: { budgetBytes: 0, reservedBytes: 0 },
    hasObserved: true,
    now: NOW,
  };
}

test('a batch starts workers where low-priority jobs start none', () => {
  expect(decideWorkers(input({ queuedLowPriority: 500 })).wanted).toBe(0);
  expect(decideWorkers(input({ queuedLowPriority: 500, batched: 1_000_000, oldestBatchAt: NOW })).wanted).toBe(1);
});

test('a batch asks for as many workers as the same number of queued jobs', () => {
  const scaler = fc.constantFrom('QUEUE_DELAY' as const, 'REQUEST_COUNT' as const);
  fc.assert(
    fc.property(
      scaler,
      fc.integer({ min: 0, max: 40 }),
      fc.integer({ min: 1, max: 40 }),
      fc.nat(20_000),
      (type, queued, batched, age) => {
        const change = { scaler: { type, value: 4 } };
        const oldestQueuedAt = queued > 0 ? NOW - age : null;
        const split = decideWorkers(input({ queued, oldestQueuedAt, batched, oldestBatchAt: NOW - age }, change));
        const whole = decideWorkers(input({ queued: queued + batched, oldestQueuedAt: NOW - age }, change));
        expect(split.wanted).toBe(whole.wanted);
        expect(split.wanted).toBeLessThanOrEqual(5);
      },
    ),
  );
});

test('while a batch waits, no idle worker leaves', () => {
  const idle = {
    id: 'w',
    version: 1,
    state: 'ready' as const,
    leased: 0,
    createdAt: 0,
    idleSince: 0,
    certainlyIdleAt: 0,
  };
  const worker = { ...idle, hasWorked: true, memoryBytes: 0, frozenAt: null };
  const decide = (demand: Partial<Demand>) => decideWorkers({ ...input(demand), workers: [worker] }).actions;
  expect(decide({})).toMatchObject([{ kind: 'drain' }]);
  expect(decide({ batched: 1, oldestBatchAt: NOW })).toEqual([]);
});
