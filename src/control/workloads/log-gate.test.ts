import fc from 'fast-check';
import { expect, test } from 'vitest';
import { DROP_MS, LogBuckets, type LogGate, lineCost } from './log-gate.ts';

const RATES = { workloadBytes: 1_000, endpointBytes: 2_000 };
const BURST = 16_000;
const NOON = Date.parse('2026-03-04T12:00:00.000Z');
const unlimited = { limit: null, usedToday: () => 0 };

const output = (line: string) => ({ ts: new Date(NOON), line });
const LINE = output('x'.repeat(36)); // counts 100

/** Passes lines; returns how many were stored. */
function flood(gate: LogGate, lines: number, nowMs: number): number {
  return Array.from({ length: lines }, () => gate.pass(LINE, nowMs).isStored).filter(Boolean).length;
}

test('a burst passes, the rest is dropped for ten seconds, and one line says what', () => {
  const gate = new LogBuckets(RATES).open('e', unlimited, NOON);
  expect(flood(gate, 1_000, NOON)).toBe(BURST / 100);
  expect(flood(gate, 1_000, NOON + DROP_MS - 1)).toBe(0);
  expect(gate.poll(NOON + DROP_MS - 1)).toEqual([]);
  const { isStored, notices } = gate.pass(LINE, NOON + DROP_MS);
  expect(isStored).toBe(true);
  expect(notices).toEqual([
    '1840 lines of 66240 bytes were dropped within 10 s: a worker or pod may log 1000 bytes a second',
  ]);
  expect(flood(gate, 1_000, NOON + DROP_MS)).toBe(99); // what ten seconds allow
});

test('what was dropped is reported although the workload says nothing more', () => {
  const gate = new LogBuckets(RATES).open('e', unlimited, NOON);
  flood(gate, 200, NOON);
  expect(gate.isDropping).toBe(true);
  expect(gate.poll(NOON + DROP_MS)).toEqual([
    expect.stringMatching(/^40 lines of 1440 bytes were dropped within 10 s/),
  ]);
  expect([gate.isDropping, gate.poll(NOON + DROP_MS)]).toEqual([false, []]);
});

test('a clock that is set back ends what is dropped: lines are stored again soon, not after an hour', () => {
  const gate = new LogBuckets(RATES).open('e', unlimited, NOON);
  flood(gate, 1_000, NOON);
  const earlier = NOON - 3_600_000;
  expect(gate.poll(earlier)).toEqual([expect.stringMatching(/^840 lines of 30240 bytes were dropped within 1 s/)]);
  expect(flood(gate, 1, earlier)).toBe(0); // nothing was saved up meanwhile
  expect(flood(gate, 1, earlier + DROP_MS)).toBe(1);
});

test('the end of a workload keeps its last lines, which say why it ended', () => {
  const gate = new LogBuckets(RATES).open('e', unlimited, NOON);
  flood(gate, 500, NOON);
  gate.pass(output('Traceback'), NOON);
  const { notices, last } = gate.end(NOON + 2_000);
  expect(notices).toEqual([expect.stringMatching(/^341 lines of \d+ bytes were dropped within 2 s/)]);
  expect([last.length, last.at(-1)!.line]).toEqual([20, 'Traceback']);
  expect(gate.end(NOON)).toEqual({ notices: [], last: [] });
});

test('the workers of an endpoint share a bucket, which is gone with the last of them', () => {
  const buckets = new LogBuckets(RATES);
  const gates = Array.from({ length: 3 }, () => buckets.open('e', unlimited, NOON));
  expect(gates.map((gate) => flood(gate, 1_000, NOON))).toEqual([160, 160, 0]);
  expect(gates[2]!.poll(NOON + DROP_MS)).toEqual([
    expect.stringContaining('all workers of an endpoint may log 2000 bytes a second together'),
  ]);
  expect(flood(buckets.open('other', unlimited, NOON), 200, NOON)).toBe(160);
  for (const _ of gates) buckets.release('e');
  expect(flood(buckets.open('e', unlimited, NOON), 200, NOON)).toBe(160);
});

test('beyond the user’s bytes a day, lines are dropped until midnight UTC, and the log says so at once', () => {
  let used = 0;
  const user = { limit: 1_000, usedToday: (nowMs: number) => (nowMs < NOON + 43_200_000 ? used : 0) };
  const gate = new LogBuckets(RATES).open('e', user, NOON);
  for (let line = 0; line < 10; line++) {
    expect(gate.pass(LINE, NOON)).toEqual({ isStored: true, notices: [] });
    used += 100;
  }
  const sentence = "the limit 'logBytesPerDay' allows 1000 stored log bytes a day";
  expect(gate.pass(LINE, NOON)).toEqual({
    isStored: false,
    notices: [`lines are dropped until 00:00 UTC: ${sentence}`],
  });
  expect(gate.pass(LINE, NOON + 43_199_999)).toEqual({ isStored: false, notices: [] });
  expect(gate.pass(LINE, NOON + 43_200_000)).toEqual({
    isStored: true,
    notices: [`2 lines of 72 bytes were dropped within 43200 s: ${sentence}`],
  });
});

test('whatever comes when, no more is stored than a burst and the rate allow, and no line is lost unsaid', () => {
  const step = fc.record({ waitMs: fc.nat(8_000), lines: fc.nat(400), length: fc.nat(500) });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
      const gate = new LogBuckets(RATES).open('e', unlimited, NOON);
      let [nowMs, stored, sent, reported] = [NOON, 0, 0, 0];
      const count = (notices: string[]) => {
        for (const notice of notices) reported += Number(/^\d+/.exec(notice)![0]);
      };
      let storedLines = 0;
      for (const { waitMs, lines, length } of steps) {
        nowMs += waitMs;
        for (let i = 0; i < lines; i++) {
          const one = output('y'.repeat(length));
          const { isStored, notices } = gate.pass(one, nowMs);
          count(notices);
          sent += 1;
          if (!isStored) continue;
          stored += lineCost(one.line);
          storedLines += 1;
        }
      }
      const { notices } = gate.end(nowMs);
      count(notices);
      expect(stored).toBeLessThanOrEqual(BURST + (nowMs - NOON) + 0.001);
      expect(storedLines + reported).toBe(sent);
    }),
  );
});
