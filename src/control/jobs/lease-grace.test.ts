import { beforeEach, describe, expect, test } from 'vitest';
import { describeInterruption, LeaseGrace } from './lease-grace.ts';

const LEASE_MS = 40_000;
const monotonic = { time: 0, now: () => monotonic.time };
/** The database's clock, apart from ours. */
let databaseMs: number;
let grace: LeaseGrace;

beforeEach(() => {
  monotonic.time = 1_000_000;
  databaseMs = 1.7e12;
  grace = new LeaseGrace({ leaseMs: LEASE_MS, monotonic });
});

function pass(ms: number): void {
  monotonic.time += ms;
  databaseMs += ms;
}

/** A check whose answer takes `tookMs`, and which plans the next one in a second. */
function check(tookMs = 0) {
  const askedAt = monotonic.now();
  pass(tookMs);
  const interruption = grace.check(askedAt, databaseMs - tookMs / 2);
  grace.planNext(1_000);
  return interruption;
}

/** Leads, and has judged leases for a while. */
function settle(): void {
  grace.begin();
  for (let seconds = 0; seconds <= LEASE_MS / 1_000; seconds++) {
    check();
    pass(1_000);
  }
  expect(grace.isOver).toBe(true);
}

test('without a leader before it a process judges only after a full lease', () => {
  grace.begin();
  expect(grace).toMatchObject({ isOver: false, sinceResumedMs: 0 });
  pass(LEASE_MS - 1);
  expect(grace).toMatchObject({ isOver: false, sinceResumedMs: LEASE_MS - 1 });
  pass(1);
  expect(grace).toMatchObject({ isOver: true, sinceResumedMs: null });
});

test('checks in time are no interruption', () => {
  settle();
  for (let i = 0; i < 100; i++) {
    pass(1_000);
    expect(check(200)).toBeNull();
  }
  expect(grace.isOver).toBe(true);
});

test('the log says whether the clock jumped or something stood still', () => {
  expect(describeInterruption({ lateMs: 20_000, jumpMs: 0 })).toContain('stood still');
  expect(describeInterruption({ lateMs: 0, jumpMs: -7_200_000 })).toContain('clock was set');
});

describe('leases begin anew', () => {
  test('after a check that came late: this process stood still', () => {
    settle();
    check();
    pass(1_000 + 60_000);
    expect(check()).toEqual({ lateMs: 60_000, jumpMs: 0 });
    expect(grace.isOver).toBe(false);
    pass(LEASE_MS);
    expect(grace.isOver).toBe(true);
  });

  test('after an answer that came late: the database stood still', () => {
    settle();
    check();
    pass(1_000);
    expect(check(60_000)).toEqual({ lateMs: 60_000, jumpMs: 0 });
    expect(grace.isOver).toBe(false);
  });

  test.each([7_200_000, -7_200_000, 5_000])('after a jump of the database clock by %i ms', (jumpMs) => {
    settle();
    check();
    pass(1_000);
    databaseMs += jumpMs;
    expect(check()).toEqual({ lateMs: 0, jumpMs });
    expect(grace.isOver).toBe(false);
    pass(1_000);
    expect(check()).toBeNull();
  });
});

test('a statement may judge until a little after it is sent, by the clock of the database', () => {
  grace.begin();
  expect(grace.validUntilMs).toBeNull();
  check();
  pass(500);
  expect(grace.validUntilMs).toBe(databaseMs + 2_000);
});

test('a slow answer is not taken for a jump', () => {
  settle();
  check();
  pass(1_000);
  const askedAt = monotonic.now();
  pass(5_000);
  expect(grace.check(askedAt, databaseMs)).toBeNull(); // read at the very end, not in the middle
});

test('a difference between the clocks is not a jump, however large', () => {
  databaseMs += 120_000;
  settle();
  check();
  pass(1_000);
  expect(check()).toBeNull();
});
