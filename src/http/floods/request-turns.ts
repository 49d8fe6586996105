import { enterTurn, type TurnTaker } from '../../core/flow/turns.ts';

/**
 * Requests that were begun in turns and have no answer yet, at most. What a request does after its first wait (for the database,
 * an upstream) is part of no turn: without this limit, as many would go on at once as connections have sent some ahead.
 */
const MAX_OPEN = 4;
/** One that has no answer after this long counts no more: it waits for something else than this process, a job perhaps. */
const MAX_OPEN_MS = 250;
const CHECK_MS = 25;

/** Connections whose next request waits for a turn, first in, first out, and those whose request was begun in one. */
let waiting: TurnTaker[] = [];
/** The next in `waiting`. */
let next = 0;
/** Since when, in ms. */
const open = new Map<TurnTaker, number>();
let timer: NodeJS.Timeout | undefined;

/** Like `enterTurn`, for a connection that begins requests in it. It calls `leaveRequestTurn` once these are answered. */
export function enterRequestTurn(taker: TurnTaker): void {
  open.delete(taker); // it is behind all others again
  waiting.push(taker);
  beginWaiting();
}

/** Lets another connection begin. Does nothing for one that began none. */
export function leaveRequestTurn(taker: TurnTaker): void {
  if (open.size > 0 && open.delete(taker)) beginWaiting();
}

function beginWaiting(): void {
  for (; next < waiting.length && open.size < MAX_OPEN; next++) {
    const taker = waiting[next]!;
    open.set(taker, performance.now());
    enterTurn(taker);
  }
  if (next === waiting.length) {
    waiting = [];
    next = 0;
  } else if (timer === undefined) timer = setTimeout(expire, CHECK_MS);
}

function expire(): void {
  timer = undefined;
  const before = performance.now() - MAX_OPEN_MS;
  for (const [taker, sinceMs] of open) if (sinceMs <= before) open.delete(taker);
  beginWaiting();
}
