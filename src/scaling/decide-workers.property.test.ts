import fc from 'fast-check';
import { expect, test } from 'vitest';
import { decideWorkers, type ScalingAction, type ScalingDecision } from './decide-workers.ts';
import { liveOf, type ScalingInput, type ScalingWorker } from './situation.ts';

/** Random worlds: any mixture of settings, demand, workers, releases, failures, memory and clocks. */
const NOW = 10_000_000;
const GIB = 2 ** 30;
const RUNS = 1_000;
/** A fixed seed: a failure is found again. Set another seed and more runs to search further. */
const SEED = 20_261_121;

const anyWorker: fc.Arbitrary<ScalingWorker> = fc
  .record({
    id: fc.uuid(),
    version: fc.integer({ min: 1, max: 3 }),
    state: fc.constantFrom<ScalingWorker['state'][]>(
      'pending',
      'starting',
      'ready',
      'ready',
      'ready',
      'leaving',
      'frozen',
    ),
    leased: fc.constantFrom(0, 0, 1, 3),
    createdAgo: fc.integer({ min: -100_000, max: 100_000 }),
    idleMs: fc.integer({ min: -100_000, max: 20_000 }),
    certainMs: fc.integer({ min: -2_000, max: 20_000 }),
    frozenAgo: fc.nat(100_000),
    hasWorked: fc.boolean(),
    memoryGib: fc.integer({ min: 0, max: 6 }),
  })
  .map(({ id, version, state, leased, createdAgo, idleMs, certainMs, frozenAgo, hasWorked, memoryGib }) => {
    const holds = state === 'ready' || state === 'leaving' ? leased : 0;
    const isIdle = state === 'ready' && holds === 0;
    return {
      id,
      version,
      state,
      leased: holds,
      createdAt: NOW - createdAgo,
      idleSince: isIdle ? NOW - idleMs : null,
      certainlyIdleAt: isIdle ? NOW - certainMs : null,
      hasWorked,
      memoryBytes: memoryGib * GIB,
      frozenAt: state === 'frozen' ? NOW - frozenAgo : null,
    };
  });

const anyInput: fc.Arbitrary<ScalingInput> = fc
  .record({
    max: fc.nat(6),
    minPart: fc.nat(6),
    type: fc.constantFrom<('QUEUE_DELAY' | 'REQUEST_COUNT')[]>('QUEUE_DELAY', 'REQUEST_COUNT'),
    value: fc.integer({ min: 1, max: 6 }),
    idleTimeoutMs: fc.nat(15_000),
    version: fc.integer({ min: 1, max: 3 }),
    flashboot: fc.constantFrom<ScalingInput['endpoint']['flashboot'][]>('OFF', 'FLASHBOOT', 'PRIORITY_FLASHBOOT'),
    isRolloutPaused: fc.boolean(),
    queued: fc.constantFrom(0, 0, 1, 5, 100),
    queuedLowPriority: fc.constantFrom(0, 0, 3),
    waitMs: fc.integer({ min: -100_000, max: 60_000 }),
    workers: fc.uniqueArray(anyWorker, { maxLength: 9, selector: ({ id }) => id }),
    failures: fc.constantFrom(0, 0, 2, 3, 9),
    failedAgo: fc.integer({ min: -100_000, max: 400_000 }),
    budgetGib: fc.constantFrom(0, 4, 64),
    reservedGib: fc.constantFrom(0, 3),
    hasObserved: fc.constantFrom(true, true, true, false),
  })
  .map((world) => ({
    endpoint: {
      min: Math.min(world.minPart, world.max),
      max: world.max,
      scaler: { type: world.type, value: world.value },
      idleTimeoutMs: world.idleTimeoutMs,
      version: world.version,
      flashboot: world.flashboot,
      isRolloutPaused: world.isRolloutPaused,
    },
    demand: {
      queued: world.queued,
      queuedLowPriority: world.queuedLowPriority,
      inProgress: world.workers.reduce((sum, { leased }) => sum + leased, 0),
      oldestQueuedAt: world.queued > 0 ? NOW - world.waitMs : null,
    },
    workers: world.workers,
    failedStarts:
      world.failures === 0 ? null : { count: world.failures, lastAt: NOW - world.failedAgo, lastReason: 'it crashed' },
    frozenMemory: { budgetBytes: world.budgetGib * GIB, reservedBytes: world.reservedGib * GIB },
    hasObserved: world.hasObserved,
    now: NOW,
  }));

function always(check: (input: ScalingInput, decision: ScalingDecision) => void): void {
  fc.assert(
    fc.property(anyInput, (input) => check(input, decideWorkers(input))),
    { numRuns: RUNS, seed: SEED },
  );
}

type Kind = ScalingAction['kind'];
const idsOf = (decision: ScalingDecision, ...kinds: Kind[]): Set<string> =>
  new Set(
    decision.actions.flatMap((action) =>
      action.kind !== 'start' && kinds.includes(action.kind) ? [action.workerId] : [],
    ),
  );
const startsOf = (decision: ScalingDecision) => decision.actions.filter(({ kind }) => kind === 'start');

let serial = 0;
/** Returns the world right after the decision was carried out. */
function carriedOut(input: ScalingInput, decision: ScalingDecision): ScalingInput {
  const [drained, frozen, thawed, stopped] = [
    idsOf(decision, 'drain'),
    idsOf(decision, 'freeze'),
    idsOf(decision, 'thaw'),
    idsOf(decision, 'stop'),
  ];
  const nowhere = { idleSince: null, certainlyIdleAt: null };
  const workers = input.workers
    .filter(({ id }) => !stopped.has(id))
    .map((worker): ScalingWorker => {
      if (drained.has(worker.id)) return { ...worker, ...nowhere, state: 'leaving' };
      if (frozen.has(worker.id)) return { ...worker, ...nowhere, state: 'frozen', frozenAt: input.now };
      if (thawed.has(worker.id)) return { ...worker, state: 'starting', frozenAt: null, createdAt: input.now };
      return worker;
    });
  const started = startsOf(decision).map((): ScalingWorker => {
    serial += 1;
    const base = { id: `new${serial}`, version: input.endpoint.version, leased: 0, createdAt: input.now, ...nowhere };
    return { ...base, state: 'pending', hasWorked: false, memoryBytes: 0, frozenAt: null };
  });
  return { ...input, workers: [...workers, ...started] };
}
const busyLeaving = ({ state, leased }: ScalingWorker) => state === 'leaving' && leased > 0;

test('numbers add up: additions never exceed workers.max, and workers.min is reached', () => {
  always((input, decision) => {
    const { min, max } = input.endpoint;
    const after = carriedOut(input, decision).workers;
    const occupied = liveOf(after).length + after.filter(busyLeaving).length;
    if (startsOf(decision).length + idsOf(decision, 'thaw').size > 0) expect(occupied).toBeLessThanOrEqual(max);
    expect(liveOf(after).length).toBeLessThanOrEqual(max);
    const isBraked = (input.failedStarts?.count ?? 0) >= 2;
    if (!isBraked) expect(occupied).toBeGreaterThanOrEqual(min);
    expect(decision.wanted).toBeLessThanOrEqual(max);
    expect(decision.wanted).toBeGreaterThanOrEqual(min);
  });
});

test('each worker gets one order at most, and only one its state allows; each action has a reason', () => {
  always((input, decision) => {
    const byId = new Map(input.workers.map((worker) => [worker.id, worker]));
    const ordered = decision.actions.flatMap((action) => (action.kind === 'start' ? [] : [action.workerId]));
    expect(new Set(ordered).size).toBe(ordered.length);
    const allowed: Record<Exclude<Kind, 'start'>, ScalingWorker['state'][]> = {
      thaw: ['frozen'],
      stop: ['frozen'],
      freeze: ['ready'],
      drain: ['pending', 'starting', 'ready'],
    };
    for (const action of decision.actions) {
      expect(action.reason).toMatch(/\S/);
      if (action.kind === 'start') expect(action.version).toBe(input.endpoint.version);
      else expect(allowed[action.kind]).toContain(byId.get(action.workerId)!.state);
    }
    expect(decision.reason).toMatch(/\S/);
  });
});

test('no busy worker is frozen, and none above the budget, above workers.max, or with FlashBoot off', () => {
  always((input, decision) => {
    const frozen = input.workers.filter(({ id }) => idsOf(decision, 'freeze').has(id));
    if (frozen.length === 0) return;
    expect(input.endpoint.flashboot).not.toBe('OFF');
    expect(frozen.every(({ leased }) => leased === 0)).toBe(true);
    const room = input.frozenMemory.budgetBytes - input.frozenMemory.reservedBytes;
    expect(frozen.reduce((sum, { memoryBytes }) => sum + memoryBytes, 0)).toBeLessThanOrEqual(room);
    const unworked = frozen.filter(({ hasWorked }) => !hasWorked);
    expect(unworked.length).toBeLessThanOrEqual(input.endpoint.flashboot === 'PRIORITY_FLASHBOOT' ? 1 : 0);
    const after = carriedOut(input, decision).workers.filter(({ state }) => state !== 'leaving');
    expect(after.length).toBeLessThanOrEqual(input.endpoint.max);
  });
});

test('workers are thawed before any cold start', () => {
  always((input, decision) => {
    if (startsOf(decision).length === 0 || input.endpoint.flashboot === 'OFF') return;
    const { isRolloutPaused, version } = input.endpoint;
    const usable = input.workers.filter(
      (one) => one.state === 'frozen' && (isRolloutPaused || one.version === version),
    );
    expect(usable.filter(({ id }) => !idsOf(decision, 'thaw').has(id))).toEqual([]);
  });
});

test('before a full round of observation workers leave only for workers.max', () => {
  always((input, decision) => {
    if (input.hasObserved) return;
    expect(idsOf(decision, 'freeze').size).toBe(0);
    for (const action of decision.actions) if (action.kind === 'drain') expect(action.reason).toContain('workers.max');
  });
});

test('a worker that becomes ready has its whole idle timeout before it leaves: loading is not idling', () => {
  always((input, decision) => {
    const { idleTimeoutMs, max, version, isRolloutPaused } = input.endpoint;
    const left = idsOf(decision, 'drain', 'freeze');
    const live = liveOf(input.workers);
    if (live.length > max) return;
    for (const worker of live) {
      if (worker.state !== 'ready' || !left.has(worker.id)) continue;
      if (!isRolloutPaused && worker.version !== version) continue;
      expect(worker.certainlyIdleAt!).toBeLessThanOrEqual(NOW);
      expect(NOW - Math.min(worker.idleSince!, worker.certainlyIdleAt!)).toBeGreaterThanOrEqual(idleTimeoutMs);
    }
  });
});

test('while work waits workers of the newest release leave only for workers.max, and with a paused roll-out so do all', () => {
  always((input, decision) => {
    const { demand, endpoint } = input;
    if (demand.queued + demand.queuedLowPriority === 0) return;
    for (const action of decision.actions) {
      if (action.kind !== 'drain' && action.kind !== 'freeze') continue;
      const worker = input.workers.find(({ id }) => id === action.workerId)!;
      if (worker.version === endpoint.version || endpoint.isRolloutPaused) {
        expect(action.reason).toBe(`workers.max allows ${endpoint.max}`);
      }
    }
  });
});

test('in a crash loop one start is tried at a time, after a pause; a thaw does not wait', () => {
  always((input, decision) => {
    if ((input.failedStarts?.count ?? 0) < 2) return;
    const { version } = input.endpoint;
    const trying = input.workers.filter(
      (one) => one.version === version && ['pending', 'starting'].includes(one.state),
    );
    expect(startsOf(decision).length + trying.length).toBeLessThanOrEqual(Math.max(1, trying.length));
    for (const action of decision.actions) {
      if (action.kind === 'start' && action.pause) expect(action.pause.until - NOW).toBeLessThanOrEqual(300_000);
    }
  });
});

test('a decision that was carried out is followed by an empty one, unless a roll-out continues step by step', () => {
  always((input, decision) => {
    const isRollingOut =
      !input.endpoint.isRolloutPaused &&
      liveOf(input.workers).some(({ version }) => version !== input.endpoint.version);
    if (isRollingOut) return;
    expect(decideWorkers(carriedOut(input, decision)).actions).toEqual([]);
  });
});

test('carrying out decisions comes to rest, and no worker is started and dismissed in turns', () => {
  always((input) => {
    let world = input;
    const steps = input.workers.length + 3;
    for (let i = 0; i < steps; i++) world = carriedOut(world, decideWorkers(world));
    expect(decideWorkers(world).actions).toEqual([]);
    const added = world.workers.filter(({ id }) => id.startsWith('new'));
    expect(added.filter(({ state }) => state === 'leaving')).toEqual([]);
  });
});

test('a clock that was set back or forward neither stops scaling nor schedules in the past', () => {
  always((input, decision) => {
    if (decision.nextAt !== null) expect(decision.nextAt).toBeGreaterThan(NOW);
    if (decision.nextAt === null) return;
    const { idleTimeoutMs, scaler } = input.endpoint;
    // 10 s is how far clocks may differ, 20 s how late certainty comes in these worlds.
    expect(decision.nextAt - NOW).toBeLessThanOrEqual(Math.max(idleTimeoutMs + 20_000, scaler.value * 1_000 + 10_000));
  });
});

test('the same input gives the same decision', () => {
  always((input, decision) => {
    expect(decideWorkers(structuredClone(input))).toEqual(decision);
  });
});
