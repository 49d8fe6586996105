import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decideWorkers, type ScalingDecision } from './decide-workers.ts';
import type { Demand, ScalingEndpoint, ScalingInput, ScalingWorker } from './situation.ts';

const NOW = 1_000_000;
const QUIET: Demand = { queued: 0, queuedLowPriority: 0, inProgress: 0, oldestQueuedAt: null };

const queueDelay = (change: Partial<ScalingEndpoint> = {}): ScalingEndpoint => ({
  min: 0,
  max: 3,
  scaler: { type: 'QUEUE_DELAY', value: 4 },
  idleTimeoutMs: 5_000,
  version: 1,
  flashboot: 'OFF',
  isRolloutPaused: false,
  ...change,
});
const requestCount = (value: number, change: Partial<ScalingEndpoint> = {}): ScalingEndpoint =>
  queueDelay({ scaler: { type: 'REQUEST_COUNT', value }, max: 10, ...change });

/** A decision in short: how many start, which leave. */
function decide(
  endpoint: ScalingEndpoint,
  demand: Demand,
  workers: readonly ScalingWorker[],
  now: number,
  change: Partial<ScalingInput> = {},
) {
  const frozenMemory = { budgetBytes: 8 * 2 ** 30, reservedBytes: 0 };
  const input = { endpoint, demand, workers, failedStarts: null, frozenMemory, hasObserved: true, now, ...change };
  return inShort(decideWorkers(input));
}
function inShort(decision: ScalingDecision) {
  const start = decision.actions.filter(({ kind }) => kind === 'start').length;
  const leave = decision.actions.flatMap((action) =>
    action.kind === 'drain' ? [{ id: action.workerId, reason: action.reason }] : [],
  );
  return { ...decision, start, leave };
}

let count = 0;
function worker(state: ScalingWorker['state'], change: Partial<ScalingWorker> = {}): ScalingWorker {
  const leased = change.leased ?? 0;
  const isIdle = state === 'ready' && leased === 0;
  count += 1;
  return {
    id: `w${count}`,
    version: 1,
    state,
    leased,
    createdAt: NOW - 60_000,
    hasWorked: true,
    memoryBytes: 2 ** 30,
    frozenAt: null,
    idleSince: isIdle ? NOW - 1_000 : null,
    certainlyIdleAt: isIdle ? NOW - 1_000 : null,
    ...change,
  };
}
const busy = (change: Partial<ScalingWorker> = {}) => worker('ready', { leased: 1, ...change });
const idleFor = (ms: number, change: Partial<ScalingWorker> = {}) =>
  worker('ready', { idleSince: NOW - ms, certainlyIdleAt: NOW - ms, ...change });
const waiting = (queued: number, forMs: number, inProgress = 0): Demand => ({
  ...QUIET,
  queued,
  inProgress,
  oldestQueuedAt: NOW - forMs,
});

describe('a worker that is stopping a job', () => {
  const stopping = (change: Partial<ScalingWorker> = {}) => busy({ stopping: 1, ...change });

  test('counts for nothing that waits: another one starts at once', () => {
    const expected = { start: 1, reason: 'a job waits and there is no worker; 1 worker is stopping a job' };
    expect(decide(queueDelay(), waiting(1, 0), [stopping()], NOW)).toMatchObject(expected);
  });

  test('counts for nothing even where it could take several jobs at once', () => {
    expect(decide(requestCount(4), waiting(1, 0), [stopping()], NOW)).toMatchObject({
      start: 1,
      wanted: 2,
      reason: '1 job at 4 a worker; 1 worker is stopping a job',
      inputs: { workers: { busy: 1, idle: 0, stopping: 1 } },
    });
  });

  test('keeps its place: workers.max allows no other beside it', () => {
    expect(decide(queueDelay({ max: 1 }), waiting(1, 60_000), [stopping()], NOW)).toMatchObject({
      start: 0,
      leave: [],
    });
  });

  test('keeps the jobs that it has besides, for which no other is needed', () => {
    const demand = { ...QUIET, inProgress: 3 };
    expect(decide(requestCount(1), demand, [stopping({ leased: 4 })], NOW)).toMatchObject({ start: 0, wanted: 1 });
  });

  test('does not leave for lack of work', () => {
    expect(decide(queueDelay(), QUIET, [stopping()], NOW)).toMatchObject({ start: 0, leave: [], wanted: 1 });
  });

  test('that leaves for another reason is not replaced beyond workers.max before it is gone', () => {
    const leaving = worker('leaving', { leased: 1, stopping: 1 });
    expect(decide(queueDelay({ max: 1 }), waiting(1, 0), [leaving], NOW)).toMatchObject({ start: 0 });
  });
});

describe('a trial', () => {
  const tried = (change: Partial<ScalingEndpoint> = {}) => queueDelay({ min: 1, isTrial: true, version: 2, ...change });

  test('starts one worker of the release without any demand, and no second one', () => {
    const first = decide(tried(), QUIET, [], NOW);
    expect(first).toMatchObject({ wanted: 1, start: 1, reason: 'version 2 is tried' });
    expect(first.actions[0]).toMatchObject({ cause: 'TRIAL', version: 2 });
    for (const state of ['pending', 'starting', 'ready'] as const)
      expect(decide(tried(), QUIET, [worker(state, { version: 2 })], NOW)).toMatchObject({ start: 0, leave: [] });
  });

  test('keeps a ready worker of the older release until one of the newer is ready', () => {
    const old = idleFor(60_000);
    expect(decide(tried(), QUIET, [old], NOW)).toMatchObject({ start: 1, leave: [] });
    expect(decide(tried(), QUIET, [old, worker('starting', { version: 2 })], NOW)).toMatchObject({ leave: [] });
    const leave = [{ id: old.id, reason: 'version 2 replaces version 1' }];
    expect(decide(tried(), QUIET, [old, worker('ready', { version: 2 })], NOW)).toMatchObject({ leave });
  });

  test('needs the place of a busy worker where workers.max leaves no other, once that has done its jobs', () => {
    const old = busy();
    expect(decide(tried({ max: 1 }), { ...QUIET, inProgress: 1 }, [old], NOW)).toMatchObject({
      start: 0,
      leave: [{ id: old.id }],
    });
  });

  test('starts nothing that a limit of the user does not allow, and says so', () => {
    const userCut = { name: 'workers', limit: 2, elsewhere: 2, max: 0 } as const;
    expect(decide(tried({ userCut }), QUIET, [], NOW)).toMatchObject({
      start: 0,
      reason: "version 2 is tried; the user's limit 'workers' of 2 allows 0, with 2 in use elsewhere",
    });
  });
});

describe('QUEUE_DELAY', () => {
  test('the first job starts one worker at once, however many jobs there are', () => {
    expect(decide(queueDelay(), waiting(100, 0), [], NOW)).toMatchObject({
      start: 1,
      leave: [],
      reason: 'a job waits and there is no worker',
    });
  });

  test('while that worker starts, no other is added before the oldest job has waited for 4 s since then', () => {
    const first = worker('starting', { createdAt: NOW - 3_999 });
    expect(decide(queueDelay(), waiting(5, 10_000), [first], NOW)).toMatchObject({
      start: 0,
      nextAt: NOW + 1,
      reason: 'the oldest job waits for less than 4 s',
    });
  });

  test('one is added when it has, with a reason', () => {
    const first = worker('starting', { createdAt: NOW - 4_000 });
    expect(decide(queueDelay(), waiting(5, 4_200), [first], NOW)).toMatchObject({
      start: 1,
      nextAt: NOW + 4_000,
      reason: 'the oldest job waits for 4.2 s, longer than 4 s',
    });
  });

  test('and one more each further 4 s, up to workers.max', () => {
    const workers = [busy({ createdAt: NOW - 9_000 }), busy({ createdAt: NOW - 4_001 })];
    expect(decide(queueDelay(), waiting(5, 9_000, 2), workers, NOW).start).toBe(1);
    const all = [...workers, busy({ createdAt: NOW - 4_001 })];
    expect(decide(queueDelay(), waiting(5, 9_000, 3), all, NOW)).toMatchObject({
      start: 0,
      reason: expect.stringContaining('workers.max allows 3'),
    });
  });

  test('a job queued after the last worker was added counts from its own time', () => {
    const workers = [busy({ createdAt: NOW - 60_000 })];
    expect(decide(queueDelay(), waiting(1, 3_000, 1), workers, NOW)).toMatchObject({
      start: 0,
      nextAt: NOW + 1_000,
    });
  });

  test('never more workers than jobs', () => {
    const starting = worker('starting', { createdAt: NOW - 60_000 });
    expect(decide(queueDelay(), waiting(1, 60_000), [starting], NOW).start).toBe(0);
  });
});

describe('REQUEST_COUNT', () => {
  test.each([
    [0, 0, 0],
    [1, 0, 1],
    [4, 0, 1],
    [5, 0, 2],
    [3, 5, 2],
    [100, 0, 10],
  ])('%i queued and %i in progress at 4 a worker want %i workers', (queued, inProgress, wanted) => {
    const demand = { ...waiting(queued, 0, inProgress), oldestQueuedAt: queued > 0 ? NOW : null };
    expect(decide(requestCount(4), demand, [], NOW)).toMatchObject({ wanted, start: wanted });
  });

  test('workers that start already are not started again', () => {
    const workers = [worker('pending'), worker('starting'), busy()];
    expect(decide(requestCount(1), waiting(4, 0, 1), workers, NOW).start).toBe(2);
  });

  test('a leaving worker takes no new work, but keeps its place until its job is done', () => {
    const workers = [worker('leaving', { leased: 1 }), worker('leaving'), busy()];
    expect(decide(requestCount(1, { max: 3 }), waiting(5, 0, 2), workers, NOW).start).toBe(1);
  });
});

describe('limits', () => {
  test('workers.min runs without any work, and never leaves', () => {
    expect(decide(queueDelay({ min: 2 }), QUIET, [], NOW)).toMatchObject({
      start: 2,
      reason: 'workers.min keeps 2',
    });
    const workers = [idleFor(600_000), idleFor(600_000)];
    expect(decide(queueDelay({ min: 2 }), QUIET, workers, NOW)).toMatchObject({ start: 0, leave: [] });
  });

  test('a worker beyond workers.min leaves after the idle timeout', () => {
    const workers = [idleFor(600_000), idleFor(6_000)];
    expect(decide(queueDelay({ min: 1 }), QUIET, workers, NOW).leave).toEqual([
      { id: workers[0]!.id, reason: 'idle for 600 s, the idle timeout is 5 s' },
    ]);
  });

  test('workers.max 0 stops everything: jobs queue, and even busy workers drain', () => {
    const workers = [busy(), idleFor(0), worker('starting')];
    const decision = decide(queueDelay({ max: 0 }), waiting(10, 60_000, 1), workers, NOW);
    expect(decision).toMatchObject({ start: 0, wanted: 0 });
    expect(decision.leave.map(({ reason }) => reason)).toEqual(Array(3).fill('workers.max allows 0'));
  });

  test('a lowered workers.max drains starting workers first, then idle, then busy ones', () => {
    const workers = [busy(), idleFor(0), worker('starting'), worker('pending')];
    const leaving = (max: number) =>
      decide(requestCount(1, { max }), waiting(9, 0, 1), workers, NOW).leave.map(({ id }) => id);
    expect(leaving(2)).toEqual([workers[3]!.id, workers[2]!.id]);
    expect(leaving(1)).toEqual([workers[3]!.id, workers[2]!.id, workers[1]!.id]);
  });

  test('lowPriority jobs start no worker, but keep those that exist', () => {
    const low = { ...QUIET, queuedLowPriority: 50 };
    for (const endpoint of [queueDelay(), requestCount(1)]) {
      expect(decide(endpoint, low, [], NOW)).toMatchObject({ start: 0, wanted: 0 });
      expect(decide(endpoint, low, [idleFor(600_000)], NOW)).toMatchObject({ start: 0, leave: [] });
    }
  });
});

describe('an idle worker', () => {
  test('stays until the idle timeout is over, and the next decision is scheduled for then', () => {
    expect(decide(queueDelay(), QUIET, [idleFor(4_000)], NOW)).toMatchObject({ leave: [], nextAt: NOW + 1_000 });
    expect(decide(queueDelay(), QUIET, [idleFor(5_000)], NOW).leave).toHaveLength(1);
  });

  test('stays until it is certain that it is idle', () => {
    const workers = [idleFor(60_000, { certainlyIdleAt: NOW + 1_500 })];
    expect(decide(queueDelay(), QUIET, workers, NOW)).toMatchObject({ leave: [], nextAt: NOW + 1_500 });
  });

  test('stays while jobs wait', () => {
    expect(decide(queueDelay(), waiting(1, 0), [idleFor(60_000)], NOW).leave).toEqual([]);
  });

  test('leaves while another is busy; the one idle longest goes first', () => {
    const workers = [busy(), idleFor(6_000), idleFor(60_000)];
    const leave = decide(requestCount(1), { ...QUIET, inProgress: 2 }, workers, NOW).leave;
    expect(leave.map(({ id }) => id)).toEqual([workers[2]!.id]);
  });

  test('that is still starting may become ready; one that waits for a place leaves', () => {
    const [starting, pending] = [worker('starting'), worker('pending')];
    expect(decide(queueDelay(), QUIET, [starting, pending], NOW).leave).toEqual([
      { id: pending.id, reason: 'the work it was wanted for is gone' },
    ]);
  });
});

/** Carries decisions out: starts become ready at the next step, leaving workers are gone once they hold no job. */
function rollOut(
  endpoint: ScalingEndpoint,
  demand: Demand,
  workers: ScalingWorker[],
  steps: number,
): ScalingWorker[][] {
  const history: ScalingWorker[][] = [];
  let now = NOW;
  for (let step = 0; step < steps; step++) {
    now += 1_000;
    const decision = decide(endpoint, demand, workers, now);
    const leaving = new Set(decision.leave.map(({ id }) => id));
    const started = Array.from({ length: decision.start }, () =>
      worker('starting', { version: endpoint.version, createdAt: now }),
    );
    const after = workers.map((each): ScalingWorker => (leaving.has(each.id) ? { ...each, state: 'leaving' } : each));
    history.push([...after, ...started]);
    workers = history
      .at(-1)!
      .filter((each) => each.state !== 'leaving' || each.leased > 0)
      .map((each): ScalingWorker => {
        if (each.state === 'leaving') return { ...each, leased: 0 }; // its job is done
        return each.state === 'starting' ? { ...each, state: 'ready', leased: demand.inProgress > 0 ? 1 : 0 } : each;
      });
  }
  return history;
}

describe('a new release', () => {
  const next = (change: Partial<ScalingEndpoint> = {}) => requestCount(1, { version: 2, ...change });

  test('idle workers of the old one leave at once when there is no work', () => {
    const old = idleFor(0);
    expect(decide(next(), QUIET, [old], NOW).leave).toEqual([{ id: old.id, reason: 'version 2 replaces version 1' }]);
  });

  test('with workers.min the old ones stay until new ones are ready', () => {
    const old = [idleFor(0), idleFor(0)];
    const endpoint = next({ min: 2 });
    expect(decide(endpoint, QUIET, old, NOW)).toMatchObject({ start: 2, leave: [] });
    const starting = [...old, worker('starting', { version: 2 }), worker('starting', { version: 2 })];
    expect(decide(endpoint, QUIET, starting, NOW)).toMatchObject({ start: 0, leave: [] });
    const oneReady = [...old, idleFor(0, { version: 2 }), worker('starting', { version: 2 })];
    expect(decide(endpoint, QUIET, oneReady, NOW).leave).toHaveLength(1);
  });

  test('starting workers of the old one leave at once', () => {
    const workers = [worker('starting'), worker('pending'), busy()];
    const { leave, start } = decide(next(), waiting(3, 0, 1), workers, NOW);
    expect(leave.map(({ id }) => id).sort()).toEqual([workers[0]!.id, workers[1]!.id].sort());
    expect(start).toBe(4);
  });

  test('at workers.max 1 the only worker leaves first, after its job', () => {
    const endpoint = next({ max: 1 });
    const old = busy();
    const first = decide(endpoint, waiting(5, 0, 1), [old], NOW);
    expect(first).toMatchObject({ start: 0, leave: [{ id: old.id }] });
    const draining: ScalingWorker = { ...old, state: 'leaving' };
    expect(decide(endpoint, waiting(5, 0, 1), [draining], NOW)).toMatchObject({ start: 0, leave: [] });
    expect(decide(endpoint, waiting(5, 0), [{ ...draining, leased: 0 }], NOW).start).toBe(1);
  });

  test('at workers.max 3 under full load all three are replaced one by one, never two at once', () => {
    const history = rollOut(next({ max: 3 }), waiting(50, 60_000, 3), [busy(), busy(), busy()], 12);
    for (const workers of history) {
      const working = workers.filter((each) => each.state === 'ready').length;
      expect(working).toBeGreaterThanOrEqual(2);
      expect(workers.filter((each) => each.state !== 'leaving' || each.leased > 0).length).toBeLessThanOrEqual(3);
    }
    expect(history.at(-1)!.map((each) => `${each.version} ${each.state}`)).toEqual(['2 ready', '2 ready', '2 ready']);
  });

  test('with room, new ones start beside the old ones, which leave as the new ones become ready', () => {
    const history = rollOut(next({ max: 6 }), waiting(50, 60_000, 3), [busy(), busy(), busy()], 12);
    for (const workers of history)
      expect(workers.filter((each) => each.state === 'ready').length).toBeGreaterThanOrEqual(3);
    expect(history.at(-1)!.every((each) => each.version === 2)).toBe(true);
  });

  test('QUEUE_DELAY under full load ends with new workers only, too', () => {
    const endpoint = queueDelay({ version: 2 });
    const history = rollOut(endpoint, waiting(50, 60_000, 3), [busy(), busy(), busy()], 30);
    expect(history.at(-1)!.map((each) => `${each.version} ${each.state}`)).toEqual(['2 ready', '2 ready', '2 ready']);
  });
});

const anyWorker: fc.Arbitrary<ScalingWorker> = fc
  .record({
    id: fc.uuid(),
    version: fc.integer({ min: 1, max: 3 }),
    state: fc.constantFrom<ScalingWorker['state'][]>('pending', 'starting', 'ready', 'ready', 'ready', 'leaving'),
    leased: fc.constantFrom(0, 0, 1, 3),
    age: fc.nat(100_000),
    idleMs: fc.nat(20_000),
    certainMs: fc.integer({ min: -2_000, max: 20_000 }),
  })
  .map(({ age, idleMs, certainMs, leased, ...rest }) => {
    const jobs = rest.state === 'pending' || rest.state === 'starting' ? 0 : leased;
    const isIdle = rest.state === 'ready' && jobs === 0;
    return {
      ...rest,
      leased: jobs,
      createdAt: NOW - age,
      hasWorked: true,
      memoryBytes: 2 ** 30,
      frozenAt: null,
      idleSince: isIdle ? NOW - idleMs : null,
      certainlyIdleAt: isIdle ? NOW - certainMs : null,
    };
  });
const anyEndpoint: fc.Arbitrary<ScalingEndpoint> = fc
  .record({
    max: fc.nat(6),
    minPart: fc.nat(6),
    type: fc.constantFrom<('QUEUE_DELAY' | 'REQUEST_COUNT')[]>('QUEUE_DELAY', 'REQUEST_COUNT'),
    value: fc.integer({ min: 1, max: 6 }),
    idleTimeoutMs: fc.nat(15_000),
    version: fc.integer({ min: 1, max: 3 }),
  })
  .map(({ max, minPart, type, value, ...rest }) => ({
    ...rest,
    max,
    flashboot: 'OFF',
    isRolloutPaused: false,
    min: Math.min(minPart, max),
    scaler: { type, value },
  }));
const anyQueue = fc.record({ queued: fc.nat(12), queuedLowPriority: fc.nat(3), waitMs: fc.nat(20_000) });

/** Demand that agrees with the workers, which hold all jobs in progress. */
function situation(
  queue: { queued: number; queuedLowPriority: number; waitMs: number },
  workers: ScalingWorker[],
): Demand {
  const { queued, queuedLowPriority, waitMs } = queue;
  const inProgress = workers.reduce((sum, each) => sum + each.leased, 0);
  return { queued, queuedLowPriority, inProgress, oldestQueuedAt: queued > 0 ? NOW - waitMs : null };
}

function property(check: (endpoint: ScalingEndpoint, demand: Demand, workers: ScalingWorker[]) => void): void {
  const anyWorkers = fc.uniqueArray(anyWorker, { maxLength: 9, selector: ({ id }) => id });
  fc.assert(
    fc.property(anyEndpoint, anyQueue, anyWorkers, (endpoint, queue, workers) => {
      check(endpoint, situation(queue, workers), workers);
    }),
    { numRuns: 3000 },
  );
}

/** Returns the workers right after a decision was carried out. */
function applied(endpoint: ScalingEndpoint, demand: Demand, workers: ScalingWorker[]): ScalingWorker[] {
  const decision = decide(endpoint, demand, workers, NOW);
  const leaving = new Set(decision.leave.map(({ id }) => id));
  const started = Array.from({ length: decision.start }, () =>
    worker('pending', { version: endpoint.version, createdAt: NOW }),
  );
  return [
    ...workers.map((each): ScalingWorker => (leaving.has(each.id) ? { ...each, state: 'leaving' } : each)),
    ...started,
  ];
}

describe('in any situation', () => {
  test('a start never exceeds workers.max, including workers that still finish a job', () => {
    property((endpoint, demand, workers) => {
      const { start } = decide(endpoint, demand, workers, NOW);
      const occupied = applied(endpoint, demand, workers).filter((each) => each.state !== 'leaving' || each.leased > 0);
      if (start > 0) expect(occupied.length).toBeLessThanOrEqual(endpoint.max);
    });
  });

  test('no more than workers.max stay, and no fewer than workers.min unless their places are taken', () => {
    property((endpoint, demand, workers) => {
      const after = applied(endpoint, demand, workers);
      const staying = after.filter((each) => each.state !== 'leaving');
      const finishing = after.filter((each) => each.state === 'leaving' && each.leased > 0);
      expect(staying.length).toBeLessThanOrEqual(endpoint.max);
      expect(staying.length + finishing.length).toBeGreaterThanOrEqual(endpoint.min);
    });
  });

  test('only workers that exist and are not leaving leave, each once, with a reason', () => {
    property((endpoint, demand, workers) => {
      const { leave } = decide(endpoint, demand, workers, NOW);
      const known = workers.filter((each) => each.state !== 'leaving').map(({ id }) => id);
      expect(new Set(leave.map(({ id }) => id)).size).toBe(leave.length);
      for (const { id, reason } of leave) {
        expect(known).toContain(id);
        expect(reason).not.toBe('');
      }
    });
  });

  test('a busy worker of the newest release leaves only when workers.max demands it, and never before an idle one', () => {
    property((endpoint, demand, workers) => {
      const leaving = new Set(decide(endpoint, demand, workers, NOW).leave.map(({ id }) => id));
      const live = workers.filter((each) => each.state !== 'leaving');
      const newest = live.filter((each) => each.version === endpoint.version);
      const busyLeaves = newest.filter((each) => each.leased > 0 && leaving.has(each.id));
      if (busyLeaves.length === 0) return;
      expect(live.length).toBeGreaterThan(endpoint.max);
      expect(newest.filter((each) => each.leased === 0 && !leaving.has(each.id))).toEqual([]);
    });
  });

  test('a decision that was carried out is followed by none', () => {
    property((endpoint, demand, workers) => {
      if (endpoint.scaler.type === 'QUEUE_DELAY' && workers.some((each) => each.version !== endpoint.version)) return;
      const after = applied(endpoint, demand, workers);
      expect(decide(endpoint, demand, after, NOW)).toMatchObject({ start: 0, leave: [] });
    });
  });

  test('in the middle of a roll-out decisions come to rest, too: no worker is started and dismissed in turns', () => {
    property((endpoint, demand, workers) => {
      let after = workers;
      for (let round = 0; round <= workers.length; round++) after = applied(endpoint, demand, after);
      expect(decide(endpoint, demand, after, NOW)).toMatchObject({ start: 0, leave: [] });
      const startedInVain = after.filter((each) => each.state === 'leaving' && each.createdAt === NOW);
      expect(startedInVain.filter((each) => !workers.some(({ id }) => id === each.id))).toEqual([]);
    });
  });

  test('a scheduled decision lies in the future', () => {
    property((endpoint, demand, workers) => {
      const { nextAt } = decide(endpoint, demand, workers, NOW);
      if (nextAt !== null) expect(nextAt).toBeGreaterThan(NOW);
    });
  });
});
