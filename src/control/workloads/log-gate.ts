/**
 * Which lines of a workload are stored. A workload that floods its log must fill neither the database nor its neighbors'
 * share: each has a token bucket, all workers of an endpoint share another one, and the user has a limit of bytes a day. Pure:
 * time is an argument, in milliseconds since 1970.
 */

import type { LogRates } from '../../config/limit-settings.ts';
import { overDay } from '../../domain/quotas/over-limit.ts';

/** Once a bucket is empty, everything is dropped for this long: so one line can say what was, and the rest is in one piece. */
export const DROP_MS = 10_000;
/** A full bucket holds what is allowed in this time: output of a start passes, and a traceback. */
const BURST_SECONDS = 16;
/** Bytes that a line takes in the database beside its text. */
const LINE_BYTES = 64;
/** The last lines before the end of a workload are kept even if they were dropped: they say why it ended. */
const KEPT_LINES = 20;
const DAY_MS = 86_400_000;

/** How much one more line counts. */
export function lineCost(line: string): number {
  return Buffer.byteLength(line) + LINE_BYTES;
}

/** Allows `rate` bytes a second, and saves up what is not used. */
export class TokenBucket {
  readonly rate: number;
  #tokens: number;
  #atMs: number;

  constructor(rate: number, nowMs: number) {
    this.rate = rate;
    this.#tokens = rate * BURST_SECONDS;
    this.#atMs = nowMs;
  }

  has(bytes: number, nowMs: number): boolean {
    const passedMs = Math.max(0, nowMs - this.#atMs); // a clock may be set back
    this.#tokens = Math.min(this.rate * BURST_SECONDS, this.#tokens + (passedMs * this.rate) / 1000);
    this.#atMs = nowMs;
    return this.#tokens >= bytes;
  }

  take(bytes: number): void {
    this.#tokens -= bytes;
  }
}

/** Bytes that a user has stored today, and may store; null: unlimited. */
export interface LogAllowance {
  limit: number | null;
  usedToday(nowMs: number): number;
}

/** A line of a workload, and when it was written. */
export interface OutputLine {
  ts: Date;
  line: string;
}

interface Dropping {
  why: string;
  fromMs: number;
  untilMs: number;
  lines: number;
  bytes: number;
  last: OutputLine[];
}

export class LogGate {
  readonly #own: TokenBucket;
  readonly #shared: TokenBucket;
  readonly #user: LogAllowance;
  #dropping: Dropping | null = null;

  constructor(own: TokenBucket, shared: TokenBucket, user: LogAllowance) {
    this.#own = own;
    this.#shared = shared;
    this.#user = user;
  }

  get isDropping(): boolean {
    return this.#dropping !== null;
  }

  /** Decides on a line. `notices` are for the workload's log, before the line. */
  pass(output: OutputLine, nowMs: number): { isStored: boolean; notices: string[] } {
    const notices = this.poll(nowMs);
    const cost = lineCost(output.line);
    if (this.#dropping === null) notices.push(...this.#check(cost, nowMs));
    if (this.#dropping === null) {
      this.#own.take(cost);
      this.#shared.take(cost);
      return { isStored: true, notices };
    }
    this.#drop(this.#dropping, output);
    return { isStored: false, notices };
  }

  /** Returns what was dropped, once that is over; at once if the clock was set back, else it would last as much longer. */
  poll(nowMs: number): string[] {
    if (this.#dropping === null) return [];
    const isOver = nowMs >= this.#dropping.untilMs || nowMs < this.#dropping.fromMs;
    return isOver ? [this.#summary(nowMs)] : [];
  }

  /** The workload has ended. Returns what was dropped, and the last lines of it. */
  end(nowMs: number): { notices: string[]; last: OutputLine[] } {
    const last = this.#dropping?.last ?? [];
    return { notices: this.#dropping === null ? [] : [this.#summary(nowMs)], last };
  }

  #check(cost: number, nowMs: number): string[] {
    const { limit } = this.#user;
    if (limit !== null && this.#user.usedToday(nowMs) + cost > limit) {
      const untilMs = (Math.floor(nowMs / DAY_MS) + 1) * DAY_MS;
      const why = overDay(limit);
      this.#begin(why, nowMs, untilMs);
      return [`lines are dropped until 00:00 UTC: ${why}`];
    }
    const isOwn = this.#own.has(cost, nowMs);
    if (isOwn && this.#shared.has(cost, nowMs)) return [];
    const why = isOwn
      ? `all workers of an endpoint may log ${this.#shared.rate} bytes a second together`
      : `a worker or pod may log ${this.#own.rate} bytes a second`;
    this.#begin(why, nowMs, nowMs + DROP_MS);
    return [];
  }

  #begin(why: string, fromMs: number, untilMs: number): void {
    this.#dropping = { why, fromMs, untilMs, lines: 0, bytes: 0, last: [] };
  }

  #drop(dropping: Dropping, output: OutputLine): void {
    dropping.lines += 1;
    dropping.bytes += Buffer.byteLength(output.line);
    dropping.last.push(output);
    if (dropping.last.length > KEPT_LINES) dropping.last.shift();
  }

  #summary(nowMs: number): string {
    const { why, fromMs, untilMs, lines, bytes } = this.#dropping!;
    this.#dropping = null;
    const seconds = Math.max(1, Math.round((Math.min(nowMs, untilMs) - fromMs) / 1000));
    return `${lines} lines of ${bytes} bytes were dropped within ${seconds} s: ${why}`;
  }
}

/** Keeps the buckets of workloads and of what they share. */
export class LogBuckets {
  readonly #rates: LogRates;
  readonly #groups = new Map<string, { bucket: TokenBucket; users: number }>();

  constructor(rates: LogRates) {
    this.#rates = rates;
  }

  /** Returns the gate of a workload. `group`: its endpoint, or itself. Call `release` with the same group in the end. */
  open(group: string, user: LogAllowance, nowMs: number): LogGate {
    const known = this.#groups.get(group) ?? { bucket: new TokenBucket(this.#rates.endpointBytes, nowMs), users: 0 };
    known.users += 1;
    this.#groups.set(group, known);
    return new LogGate(new TokenBucket(this.#rates.workloadBytes, nowMs), known.bucket, user);
  }

  release(group: string): void {
    const known = this.#groups.get(group);
    if (!known) return;
    known.users -= 1;
    if (known.users === 0) this.#groups.delete(group);
  }
}
