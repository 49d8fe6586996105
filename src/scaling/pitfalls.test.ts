import { describe, expect, test } from 'vitest';
import { decideWorkers, type ScalingAction } from './decide-workers.ts';
import { type FrozenWorker, frozenOverBudget, reservedBytes } from './frozen-workers.ts';
import type { ScalingInput, ScalingWorker } from './situation.ts';

/** Pitfalls of other systems, as scenarios; times are seconds since the start of each. */
const GIB = 2 ** 30;
const START = 1_000_000_000;
const at = (seconds: number) => START + seconds * 1_000;

let count = 0;
function worker(change: Partial<ScalingWorker> = {}): ScalingWorker {
  count += 1;
  const base = { version: 1, leased: 0, createdAt: START, idleSince: null, certainlyIdleAt: null };
  return { id: `w${count}`, state: 'ready', ...base, hasWorked: true, memoryBytes: GIB, frozenAt: null, ...change };
}
const idleSince = (seconds: number, change: Partial<ScalingWorker> = {}) =>
  worker({ idleSince: at(seconds), certainlyIdleAt: at(seconds + 1.5), ...change });
const frozenSince = (seconds: number, change: Partial<ScalingWorker> = {}) =>
  worker({ state: 'frozen', frozenAt: at(seconds), ...change });

interface Story extends Partial<Omit<ScalingInput, 'endpoint' | 'demand'>> {
  endpoint?: Partial<ScalingInput['endpoint']>;
  demand?: Partial<ScalingInput['demand']>;
}
function decide(seconds: number, story: Story) {
  const decision = decideWorkers({
    workers: [],
    failedStarts: null,
    frozenMemory: { budgetBytes: 64 * GIB, reservedBytes: 0 },
    hasObserved: true,
    now: at(seconds),
    ...story,
    endpoint: {
      min: 0,
      max: 5,
      scaler: { type: 'REQUEST_COUNT', value: 1 },
      idleTimeoutMs: 5_000,
      version: 1,
      flashboot: 'OFF',
      isRolloutPaused: false,
      ...story.endpoint,
    },
    demand: { queued: 0, queuedLowPriority: 0, inProgress: 0, oldestQueuedAt: null, ...story.demand },
  });
  return { ...decision, did: decision.actions.map(inShort) };
}
const inShort = (action: ScalingAction) => (action.kind === 'start' ? 'start' : `${action.kind} ${action.workerId}`);

describe('waking up', () => {
  test('a single waiting job starts a worker the moment it is seen: 0 to 1 needs no average', () => {
    for (const type of ['QUEUE_DELAY', 'REQUEST_COUNT'] as const) {
      const story = { endpoint: { scaler: { type, value: 4 } }, demand: { queued: 1, oldestQueuedAt: at(10) } };
      expect(decide(10, story).did).toEqual(['start']);
    }
  });

  test('a worker that loads for ten minutes is not idle: its idle clock starts when it is ready', () => {
    const loading = worker({ state: 'starting' });
    expect(decide(600, { workers: [loading] }).did).toEqual([]);
    const ready = idleSince(600, { id: loading.id });
    expect(decide(604.9, { workers: [ready] })).toMatchObject({ did: [], nextAt: at(605) });
    expect(decide(605, { workers: [ready] }).did).toEqual([`drain ${ready.id}`]);
  });

  test('one job waiting for a loading worker does not start another one, however often it is decided', () => {
    const story = { workers: [worker({ state: 'starting' })], demand: { queued: 1, oldestQueuedAt: START } };
    for (const seconds of [1, 10, 100, 1_000]) {
      expect(decide(seconds, story).did).toEqual([]);
      expect(decide(seconds, { ...story, endpoint: { scaler: { type: 'QUEUE_DELAY', value: 1 } } }).did).toEqual([]);
    }
  });

  test('a herd of a hundred thousand jobs asks for workers.max workers once, not for a hundred thousand', () => {
    const herd = { queued: 100_000, oldestQueuedAt: START };
    expect(decide(0, { demand: herd }).did).toEqual(Array(5).fill('start'));
    const coming = Array.from({ length: 5 }, () => worker({ state: 'pending' }));
    expect(decide(1, { demand: herd, workers: coming }).did).toEqual([]);
  });
});

describe('counting', () => {
  test('running work counts: no worker leaves while jobs run on all, though none waits', () => {
    const busy = [worker({ leased: 1 }), worker({ leased: 1 })];
    expect(decide(1_000, { workers: busy, demand: { inProgress: 2 } }).did).toEqual([]);
  });

  test('without traffic nothing starts', () => {
    expect(decide(0, {}).did).toEqual([]);
    expect(decide(0, { demand: { queuedLowPriority: 50 } }).did).toEqual([]);
  });
});

describe('a restart of control', () => {
  const idle = [idleSince(-3_600), idleSince(-3_600)];

  test('removes no worker until everything has been seen once', () => {
    expect(decide(0, { workers: idle, hasObserved: false }).did).toEqual([]);
    expect(decide(5, { workers: idle, hasObserved: true }).did).toHaveLength(2);
  });

  test('starts no worker that exists already', () => {
    const workers = [worker({ leased: 1 }), worker({ state: 'starting' })];
    const demand = { queued: 1, inProgress: 1, oldestQueuedAt: START };
    expect(decide(60, { workers, demand, hasObserved: false }).did).toEqual([]);
  });

  test('does not forget which release is current: no worker of it is replaced', () => {
    const workers = [worker({ version: 7, leased: 1 }), idleSince(0, { version: 7 })];
    expect(decide(1, { workers, endpoint: { version: 7 }, demand: { inProgress: 1 } }).did).toEqual([]);
  });
});

describe('a new release', () => {
  test('under traffic never scales to zero: the old worker stays until a new one is ready', () => {
    const old = worker({ leased: 1 });
    const demand = { queued: 3, inProgress: 1, oldestQueuedAt: START };
    const story = { endpoint: { version: 2 }, demand };
    expect(decide(0, { ...story, workers: [old] }).did).not.toContain(`drain ${old.id}`);
    const loading = Array.from({ length: 4 }, () => worker({ version: 2, state: 'starting' }));
    expect(decide(30, { ...story, workers: [old, ...loading] }).did).toEqual([]);
    const ready = loading.map((each) => ({ ...each, state: 'ready' as const, leased: 1 }));
    expect(decide(60, { ...story, workers: [old, ...ready] }).did).toEqual([`drain ${old.id}`]);
  });

  test('that is paused replaces no worker, and new workers are on it all the same', () => {
    const old = idleSince(0);
    const story = { endpoint: { version: 2, isRolloutPaused: true, idleTimeoutMs: 60_000 }, workers: [old] };
    expect(decide(10, story).did).toEqual([]);
    const more = decide(10, { ...story, demand: { queued: 2, oldestQueuedAt: at(10) } });
    expect(more.actions).toEqual([
      { kind: 'start', version: 2, pause: null, cause: 'DEMAND', reason: '2 jobs at 1 a worker' },
    ]);
    expect(decide(11, { ...story, endpoint: { ...story.endpoint, isRolloutPaused: false } }).did).toContain(
      `drain ${old.id}`,
    );
  });
});

describe('starts that fail', () => {
  const failing = (times: number, lastSeconds: number) => ({
    failedStarts: { count: times, lastAt: at(lastSeconds), lastReason: 'exit code 1' },
    demand: { queued: 9, oldestQueuedAt: START },
  });

  test('two follow each other at once; then one is tried at a time, after a backoff that doubles', () => {
    expect(decide(3, failing(1, 3)).did).toEqual(Array(5).fill('start'));
    const pauses = [2, 3, 4, 20].map((times) => {
      const [action, ...others] = decide(100, failing(times, 100)).actions;
      expect(others).toEqual([]);
      return action!.kind === 'start' && action!.pause ? (action!.pause.until - at(100)) / 1_000 : null;
    });
    expect(pauses).toEqual([1, 2, 4, 300]);
  });

  test('while that one is tried, no other one is', () => {
    const trying = worker({ state: 'pending' });
    expect(decide(101, { ...failing(5, 100), workers: [trying] }).did).toEqual([]);
  });

  test('the pause says why, with the last log line', () => {
    const [action] = decide(100, failing(3, 100)).actions;
    expect(action).toMatchObject({
      pause: {
        reason: expect.stringMatching(
          /^3 starts ended before the worker was ready, next try at .*; the last one: exit code 1$/,
        ),
      },
    });
  });

  test('a new release is tried at once: it has no failures', () => {
    const paused = worker({ state: 'pending' });
    const story = { ...failing(9, 100), failedStarts: null, endpoint: { version: 2 }, workers: [paused] };
    expect(decide(101, story).did).toEqual([`drain ${paused.id}`, ...Array(5).fill('start')]);
  });

  test('a pause is at most five minutes, though the clock was set back by a day', () => {
    const [action] = decide(0, failing(20, 86_400)).actions;
    expect(action).toMatchObject({ pause: { until: at(300) } });
  });
});

describe('FlashBoot', () => {
  const endpoint = { flashboot: 'FLASHBOOT' as const };

  test('an idle worker that has worked is frozen instead of stopped, and thawed before any cold start', () => {
    const idle = idleSince(0);
    expect(decide(5, { endpoint, workers: [idle] }).actions).toEqual([
      {
        kind: 'freeze',
        cause: 'IDLE',
        workerId: idle.id,
        reason: 'idle for 5 s, the idle timeout is 5 s; frozen, to be awake sooner',
      },
    ]);
    const frozen = frozenSince(5, { id: idle.id });
    const demand = { queued: 2, oldestQueuedAt: at(60) };
    expect(decide(60, { endpoint, workers: [frozen], demand }).did).toEqual([`thaw ${idle.id}`, 'start']);
  });

  test('the one that was frozen last is thawed first', () => {
    const workers = [frozenSince(10), frozenSince(30), frozenSince(20)];
    const demand = { queued: 2, oldestQueuedAt: at(60) };
    expect(decide(60, { endpoint, workers, demand }).did).toEqual([`thaw ${workers[1]!.id}`, `thaw ${workers[2]!.id}`]);
  });

  test('one that never worked, or is too large, is stopped, with a reason', () => {
    const unused = idleSince(0, { hasWorked: false });
    expect(decide(5, { endpoint, workers: [unused] }).actions[0]!.reason).toContain(
      'not frozen: it has done no work yet',
    );
    const large = idleSince(0, { memoryBytes: 80 * GIB });
    expect(decide(5, { endpoint, workers: [large] }).actions[0]!.reason).toContain(
      'not frozen: it holds 80.0 GiB of memory, frozen workers may hold 64.0 GiB in all',
    );
  });

  test('PRIORITY_FLASHBOOT keeps one warm from the first start, even if it never worked', () => {
    const workers = [idleSince(0, { hasWorked: false }), idleSince(1, { hasWorked: false })];
    const did = decide(10, { endpoint: { flashboot: 'PRIORITY_FLASHBOOT' }, workers }).did;
    expect(did).toEqual([`drain ${workers[1]!.id}`, `freeze ${workers[0]!.id}`]);
  });

  test('OFF, workers.max 0 and a new release stop frozen workers', () => {
    const frozen = frozenSince(0);
    for (const change of [{ flashboot: 'OFF' as const }, { ...endpoint, max: 0 }, { ...endpoint, version: 2 }]) {
      expect(decide(10, { endpoint: change, workers: [frozen] }).did).toEqual([`stop ${frozen.id}`]);
    }
  });

  test('a lowered workers.max stops frozen workers beyond it, the oldest first', () => {
    const workers = [frozenSince(1), frozenSince(2), frozenSince(3)];
    expect(decide(10, { endpoint: { ...endpoint, max: 2 }, workers }).did).toEqual([`stop ${workers[0]!.id}`]);
  });

  test('over the budget the oldest is evicted first, those of PRIORITY_FLASHBOOT last', () => {
    const frozen = (id: string, seconds: number, isPriority = false): FrozenWorker => {
      return { id, isPriority, memoryBytes: GIB, frozenAt: at(seconds) };
    };
    const all = [frozen('new', 30), frozen('priority', 1, true), frozen('old', 10)];
    expect(frozenOverBudget(all, 3 * GIB)).toEqual([]);
    expect(frozenOverBudget(all, 2 * GIB).map(({ id }) => id)).toEqual(['old']);
    expect(frozenOverBudget(all, 0).map(({ id }) => id)).toEqual(['old', 'new', 'priority']);
    expect(reservedBytes('FLASHBOOT', all)).toBe(GIB);
    expect(reservedBytes('PRIORITY_FLASHBOOT', all)).toBe(0);
  });
});

describe('a clock that jumps', () => {
  test('back by an hour: jobs that wait are still served, step by step', () => {
    const endpoint = { scaler: { type: 'QUEUE_DELAY' as const, value: 4 } };
    const demand = { queued: 9, inProgress: 1, oldestQueuedAt: at(3_600) };
    const before = worker({ leased: 1, createdAt: at(3_590) });
    expect(decide(0, { endpoint, demand, workers: [before] }).did).toEqual(['start']);
    const added = worker({ state: 'starting', createdAt: at(0) });
    expect(decide(1, { endpoint, demand, workers: [before, added] })).toMatchObject({ did: [], nextAt: at(4) });
    expect(decide(4, { endpoint, demand, workers: [before, added] }).did).toEqual(['start']);
  });

  test('back by an hour: an idle worker leaves after its timeout, not an hour later', () => {
    const idle = worker({ idleSince: at(3_600), certainlyIdleAt: at(2) });
    expect(decide(3, { workers: [idle] })).toMatchObject({ did: [], nextAt: at(7) });
    expect(decide(7, { workers: [idle] }).did).toEqual([`drain ${idle.id}`]);
  });

  test('forward by an hour: busy workers stay', () => {
    const busy = worker({ leased: 1 });
    expect(decide(3_600, { workers: [busy], demand: { inProgress: 1 } }).did).toEqual([]);
  });
});
