/**
 * Fair turns on the event loop. Work that is ready but need not be done now waits here, such as the requests that a client
 * sent ahead of their answers. In a turn of the event loop it gets `SHARE_MS` together, and a third of the time in the long
 * run, so that whoever comes meanwhile is served in between. First in, first out: whoever enters again after its turn is
 * behind all others.
 *
 * There is one queue, as a process has one event loop.
 */

/** Work that waits for a turn. */
export interface TurnTaker {
  /** Does a small piece of work; then it enters again if there is more. Must not throw. */
  takeTurn(): void;
}

/** What waiting work may take at once; one piece of it is always done. */
const SHARE_MS = 1;
/** Waiting work takes one part in so many of the time. */
const PARTS = 3;

let waiting: TurnTaker[] = [];
/** The next in `waiting`. */
let next = 0;
let isArmed = false;
let stepAt = 0;
/** Until when what was done takes its part of the time. */
let paidUntilMs = 0;

/** Has `taker.takeTurn` called once, in this turn of the event loop or a later one. */
export function enterTurn(taker: TurnTaker): void {
  waiting.push(taker);
  if (isArmed) return;
  isArmed = true;
  setImmediate(goOn);
}

/** Resolves in a turn of the caller's own. What it does before it waits again is the piece of work. */
export function ownTurn(): Promise<void> {
  return new Promise((resolve) => enterTurn({ takeTurn: resolve }));
}

function goOn(): void {
  const now = performance.now();
  const earlyMs = paidUntilMs - now - (PARTS - 1) * SHARE_MS;
  if (earlyMs > 0) setTimeout(goOn, earlyMs);
  else step(now);
}

function step(now: number): void {
  stepAt = now;
  const taker = waiting[next]!;
  next += 1;
  if (next === waiting.length) {
    waiting = [];
    next = 0;
  }
  queueMicrotask(afterPromises); // those that the work resolves are part of it, and of its time
  taker.takeTurn();
}

function afterPromises(): void {
  process.nextTick(endStep);
}

function endStep(): void {
  const now = performance.now();
  paidUntilMs = Math.max(paidUntilMs, stepAt) + PARTS * (now - stepAt);
  if (waiting.length === 0) isArmed = false;
  else goOn();
}
