/**
 * Fair turns on the event loop. Work that is ready but need not be done now waits here: requests that a client sent ahead of
 * their answers, and requests that cost much. In a turn of the event loop it gets `SHARE_MS` together, and a third of the time
 * in the long run, so that requests that arrive meanwhile are served in between. The owners of the work take turns; that of one owner
 * is done first in, first out: a taker that enters again after its turn is behind all others of the owner.
 *
 * There is one queue, as a process has one event loop.
 */

/** Work that waits for a turn. */
export interface TurnTaker {
  /** Does a small piece of work; then it enters again if there is more. Must not throw. */
  takeTurn(): void;
}

/** The time that waiting work may take at once; one piece of it is always done. */
const SHARE_MS = 1;
/** Waiting work takes one part in so many of the time. */
const PARTS = 3;
/** Takers of a line that are kept after their turn. */
const MAX_DONE = 1_000;
/** The owner of the pipelined requests of all connections, which take turns in the order in which they enter. */
const CONNECTIONS = '';

/** The waiting work of one owner. */
interface Line {
  takers: TurnTaker[];
  /** The next in `takers`. */
  next: number;
}

/** In the order in which the owners take turns. Never an empty line. */
const lines = new Map<string, Line>();
let isArmed = false;
/** Whose turn it is; null between turns. */
let stepOwner: string | null = null;
let stepAt = 0;
/** Until when what was done takes its part of the time. */
let paidUntilMs = 0;

/** Has `taker.takeTurn` called once, in this turn of the event loop or a later one. */
export function enterTurn(taker: TurnTaker, owner = CONNECTIONS): void {
  const line = lines.get(owner);
  if (line) line.takers.push(taker);
  else lines.set(owner, { takers: [taker], next: 0 });
  if (isArmed) return;
  isArmed = true;
  setImmediate(goOn);
}

/**
 * Waits for a turn of `owner`: what follows, up to the next wait for anything else, is paid for as its work. Resolves at once in
 * a turn that has time left. Call it before each piece of work that takes about a millisecond.
 */
export function takeTurn(owner: string): Promise<void> | undefined {
  if (stepOwner === owner && performance.now() - stepAt < SHARE_MS) return undefined;
  return new Promise((resolve) => enterTurn({ takeTurn: resolve }, owner));
}

function goOn(): void {
  const now = performance.now();
  const earlyMs = paidUntilMs - now - (PARTS - 1) * SHARE_MS;
  if (earlyMs > 0) setTimeout(goOn, earlyMs);
  else step(now);
}

function step(now: number): void {
  stepAt = now;
  const taker = nextTaker();
  queueMicrotask(afterPromises); // those that the work resolves are part of it, and of its time
  taker.takeTurn();
}

/** Removes the first of the owner whose turn it is; that owner's next turn comes after those of the others. */
function nextTaker(): TurnTaker {
  const [[owner, line]] = lines as unknown as [[string, Line]];
  stepOwner = owner;
  const taker = line.takers[line.next]!;
  line.next += 1;
  if (line.next === MAX_DONE) {
    line.takers = line.takers.slice(MAX_DONE);
    line.next = 0;
  }
  lines.delete(owner);
  if (line.next < line.takers.length) lines.set(owner, line);
  return taker;
}

function afterPromises(): void {
  process.nextTick(endStep);
}

function endStep(): void {
  const now = performance.now();
  stepOwner = null;
  paidUntilMs = Math.max(paidUntilMs, stepAt) + PARTS * (now - stepAt);
  if (lines.size === 0) isArmed = false;
  else goOn();
}
