/** Judges an endpoint's next start by its last ones. Pure. */
import { isNewest } from './releases.ts';

/** A start counts as slow when it takes longer than this multiple of the usual. */
const SLOW_FACTOR = 2;
/** Differences below this are noise. */
const MIN_USUAL_MS = 10_000;
/** The usual time of a start while none is known: the default of RUNPOD_INIT_TIMEOUT. */
const UNKNOWN_USUAL_MS = 420_000;
/** Starts from which the usual time is taken. */
const SAMPLES = 10;

/** A start of any release. Times are milliseconds since 1970. */
export interface PastStart {
  version: number;
  /** When it got its place; null if it ended before that. */
  placedAt: number | null;
  readyAt: number | null;
  exitedAt: number | null;
  /** It ended although it was wanted. */
  isLost: boolean;
}

/** The rights of an endpoint that needs a place for its next worker. */
export interface StartRecord {
  /** Starts of the newest release that failed in a row, since one became ready. */
  failures: number;
  /** Only free capacity, after everybody else: its last starts failed. */
  isBroken: boolean;
  /** False also when its last start was not ready within its usual time. */
  mayPreempt: boolean;
}

export const NO_FAILURES: StartRecord = { failures: 0, isBroken: false, mayPreempt: true };

/** Judges an endpoint by its last starts, in any order. */
export function startRecordOf(starts: readonly PastStart[], version: number, now: number): StartRecord {
  const current = starts.filter((start) => isNewest({ version }, start));
  const lastReadyAt = Math.max(Number.NEGATIVE_INFINITY, ...current.map(({ readyAt }) => readyAt ?? -Infinity));
  const failures = current.filter(
    ({ readyAt, exitedAt, isLost }) => isLost && readyAt === null && exitedAt !== null && exitedAt > lastReadyAt,
  ).length;
  return {
    failures,
    isBroken: failures >= FREE_STARTS,
    mayPreempt: failures === 0 && !isLastSlow(starts, now),
  };
}

/** True when the last start took, or takes, longer than the ones before it. */
function isLastSlow(starts: readonly PastStart[], now: number): boolean {
  const placed = starts
    .filter(({ placedAt, readyAt, exitedAt }) => placedAt !== null && (readyAt !== null || exitedAt === null))
    .sort((a, b) => b.placedAt! - a.placedAt!);
  const [last, ...before] = placed;
  if (!last) return false;
  const tookMs = (last.readyAt ?? now) - last.placedAt!;
  return tookMs > usualMs(before);
}

/** Returns what a start may take by the ones before it. */
function usualMs(starts: readonly PastStart[]): number {
  const times = starts
    .flatMap(({ placedAt, readyAt }) => (readyAt === null ? [] : [readyAt - placedAt!]))
    .slice(0, SAMPLES)
    .sort((a, b) => a - b);
  const median = times[Math.floor(times.length / 2)];
  return median === undefined ? UNKNOWN_USUAL_MS : Math.max(MIN_USUAL_MS, SLOW_FACTOR * median);
}

/** Starts without a pause before them. After as many failures in a row, an endpoint gets free capacity only. */
const FREE_STARTS = 2;
const FIRST_PAUSE_MS = 1_000;
export const MAX_PAUSE_MS = 300_000;

/**
 * Returns when the next start is due in a crash loop: at once after the first failed start, then after a backoff that
 * doubles from one second to five minutes. `failures` counts starts of the newest release that ended before the worker was
 * ready, since one became ready; so a new release starts at once. `freeStarts`: the first ones, without a pause.
 */
export function nextStartAt(failures: number, lastFailureAt: number, freeStarts = FREE_STARTS): number {
  if (failures < freeStarts) return lastFailureAt;
  return lastFailureAt + Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(failures - freeStarts, 30));
}
