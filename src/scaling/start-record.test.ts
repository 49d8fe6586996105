import { describe, expect, test } from 'vitest';
import { type PastStart, startRecordOf } from './start-record.ts';

const NOW = 10_000_000;
const MINUTE = 60_000;
/** A start that got its place `ago` ms ago and was ready after `tookMs`; null: not ready yet. */
const start = (ago: number, tookMs: number | null, change: Partial<PastStart> = {}): PastStart => ({
  version: 1,
  placedAt: NOW - ago,
  readyAt: tookMs === null ? null : NOW - ago + tookMs,
  exitedAt: null,
  isLost: false,
  ...change,
});
const failed = (ago: number, change: Partial<PastStart> = {}) =>
  start(ago, null, { exitedAt: NOW - ago + 1_000, isLost: true, ...change });
const judge = (...starts: PastStart[]) => startRecordOf(starts, 1, NOW);

describe('failed starts', () => {
  test('none: an endpoint that has not started anything may do everything', () => {
    expect(judge()).toEqual({ failures: 0, isBroken: false, mayPreempt: true });
  });

  test('one takes the right to preempt, two in a row all rights', () => {
    expect(judge(failed(2_000))).toEqual({ failures: 1, isBroken: false, mayPreempt: false });
    expect(judge(failed(2_000), failed(5_000))).toEqual({ failures: 2, isBroken: true, mayPreempt: false });
  });

  test('one worker that becomes ready restores them', () => {
    expect(judge(failed(60_000), failed(50_000), start(20_000, 5_000))).toMatchObject({
      isBroken: false,
      mayPreempt: true,
    });
    expect(judge(start(60_000, 5_000), failed(20_000), failed(10_000))).toMatchObject({ failures: 2, isBroken: true });
  });

  test('of an older release do not count', () => {
    const older = { version: 0 };
    expect(judge(failed(9_000, older), failed(5_000, older))).toMatchObject({ failures: 0, isBroken: false });
  });

  test('count without a place: an image that cannot be pulled is a failed start', () => {
    expect(judge(failed(9_000, { placedAt: null }), failed(5_000, { placedAt: null }))).toMatchObject({
      isBroken: true,
    });
  });

  test('are not those of workers that were no longer wanted', () => {
    expect(judge(failed(9_000, { isLost: false }), failed(5_000, { isLost: false }))).toMatchObject({ failures: 0 });
  });
});

describe('the usual time', () => {
  test('a last start of more than twice the median takes the right to preempt, also while it lasts', () => {
    const usual = [start(30 * MINUTE, 20_000), start(20 * MINUTE, 30_000), start(10 * MINUTE, 25_000)];
    expect(judge(...usual, start(5 * MINUTE, 49_000))).toMatchObject({ mayPreempt: true });
    expect(judge(...usual, start(5 * MINUTE, 51_000))).toMatchObject({ mayPreempt: false, isBroken: false });
    expect(judge(...usual, start(49_000, null))).toMatchObject({ mayPreempt: true });
    expect(judge(...usual, start(51_000, null))).toMatchObject({ mayPreempt: false });
  });

  test('is seven minutes as long as none is known, and at least ten seconds', () => {
    expect(judge(start(6 * MINUTE, null))).toMatchObject({ mayPreempt: true });
    expect(judge(start(8 * MINUTE, null))).toMatchObject({ mayPreempt: false });
    expect(judge(start(9 * MINUTE, 500), start(MINUTE, 9_000))).toMatchObject({ mayPreempt: true });
  });
});
