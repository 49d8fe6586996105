import { clientAddress, clientNetwork, type TrustedAddresses } from '../../core/client-address.ts';
import { type Clock, monotonicClock } from '../../core/clock.ts';
import { enterTurn, type TurnTaker } from '../../core/flow/turns.ts';

/**
 * Slows floods of refused requests down before they cost anything: a connection whose latest request was refused waits for its next one
 * while its network has too many refusals. A connection without refusals never waits for others', whatever its network, and no request is
 * refused because of them.
 */

/** Refused requests of one network in a second, and of all networks together. */
const MAX_PER_SECOND = 500;
const MAX_OF_ALL = 2_000;
/** The burst that is allowed after a pause, in ms of the pace. */
const BURST_MS = 1_000;
/** How far ahead more than that is counted, so that no wait follows long after a flood. */
const MAX_DEBT_MS = 1_000;
/** How often waiting connections are looked at. */
const TICK_MS = 5;
/** Connections of one source that wait; others are cut. */
const MAX_WAITING = 1_000;
/** Networks that are tracked. Those beyond share one pace, so that many networks gain nothing. */
const MAX_SOURCES = 10_000;

/** A pace: until when what has come is paid for, in ms. Whatever is in the past means that nothing came lately. */
interface Pace {
  untilMs: number;
}

/** The paces of refused requests, by what they are counted for. */
export class RefusalPace {
  readonly #clock: Clock;
  /** Least recently charged first. */
  readonly #paces = new Map<string, Pace>();
  readonly #others: Pace = { untilMs: 0 };
  readonly #all: Pace = { untilMs: 0 };
  /** The latest that any is paid for. */
  #latestMs = 0;
  readonly #waiting = new Map<string, Set<TurnTaker>>();
  #timer: NodeJS.Timeout | undefined;

  constructor({ clock = monotonicClock }: { clock?: Clock } = {}) {
    this.#clock = clock;
  }

  /** Counts a refused request, or as many as one costs. */
  charge(source: string, cost = 1): void {
    const now = this.#clock.now();
    const pace = this.#find(source, now);
    count(pace, now, (cost * 1_000) / MAX_PER_SECOND);
    count(this.#all, now, (cost * 1_000) / MAX_OF_ALL);
    this.#latestMs = Math.max(this.#latestMs, pace.untilMs, this.#all.untilMs);
  }

  /** True while no source has too many. */
  get isCalm(): boolean {
    return this.#latestMs - this.#clock.now() <= BURST_MS;
  }

  /** True when too many have come of the source, or of all and some of it. */
  isExceeded(source: string): boolean {
    const now = this.#clock.now();
    const pace = this.#paces.get(source) ?? this.#others;
    return isOver(pace, now) || (pace.untilMs > now && isOver(this.#all, now));
  }

  /** Has the taker enter a turn when it may send another request, which is counted then. False: too many wait. */
  wait(source: string, taker: TurnTaker): boolean {
    let takers = this.#waiting.get(source);
    if (takers === undefined) {
      takers = new Set();
      this.#waiting.set(source, takers);
    }
    if (takers.size >= MAX_WAITING) return false;
    takers.add(taker);
    this.#timer ??= setInterval(() => this.admit(), TICK_MS);
    return true;
  }

  /** Forgets one that waits. */
  leave(source: string, taker: TurnTaker): void {
    const takers = this.#waiting.get(source);
    takers?.delete(taker);
    if (takers?.size === 0) this.#waiting.delete(source);
  }

  /** Lets those go on whose time has come: one of each source, then another of each. */
  admit(): void {
    for (let wasAdmitted = true; wasAdmitted; ) {
      wasAdmitted = false;
      for (const [source, takers] of this.#waiting) {
        if (this.isExceeded(source)) continue;
        const [taker] = takers as unknown as [TurnTaker];
        this.leave(source, taker);
        this.charge(source);
        enterTurn(taker);
        wasAdmitted = true;
      }
    }
    if (this.#waiting.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #find(source: string, now: number): Pace {
    const known = this.#paces.get(source);
    const pace = known ?? { untilMs: 0 };
    if (!known && this.#paces.size >= MAX_SOURCES && !this.#forgetOldest(now)) return this.#others;
    this.#paces.delete(source);
    this.#paces.set(source, pace);
    return pace;
  }

  /** False if the oldest still counts. */
  #forgetOldest(now: number): boolean {
    const [[source, { untilMs }]] = this.#paces as unknown as [[string, Pace]];
    return untilMs <= now && this.#paces.delete(source);
  }
}

function count(pace: Pace, now: number, ms: number): void {
  pace.untilMs = Math.min(Math.max(pace.untilMs, now) + ms, now + BURST_MS + MAX_DEBT_MS);
}

function isOver({ untilMs }: Pace, now: number): boolean {
  return untilMs - now > BURST_MS;
}

/** A connection that waits for its pace. */
export interface PacedTaker extends TurnTaker {
  /** Ends the connection. */
  destroy(): void;
}

/** True for the status of a request that its client should not have sent. */
export function isRefusal(status: number): boolean {
  return status >= 400 && status < 500;
}

/** Whose requests come on a connection. */
export interface PacedClient {
  remoteAddress: string;
  /** For a connection from a trusted proxy, whose requests come from many clients; null for a client's own. */
  proxies: TrustedAddresses | null;
}

/**
 * The waits of one connection. Refusals that are the first answer of their connection have a pace of their own, for
 * which new connections wait: without it, a client would open a connection for each request. On a connection from a trusted
 * proxy each request is judged alone, by the address that the proxy names.
 */
export class ConnectionPace {
  readonly #pace: RefusalPace;
  readonly #client: PacedClient;
  #network: string | undefined;
  #isNew = true;
  #wasRefused = false;
  /** The next request has already been counted. */
  #isPaid = false;
  #waitsFor: string | undefined;

  constructor(pace: RefusalPace, client: PacedClient) {
    this.#pace = pace;
    this.#client = client;
  }

  get isWaiting(): boolean {
    return this.#waitsFor !== undefined;
  }

  /** True when the next request waits, unread: `taker` enters a turn later, and calls `resume` in it. */
  mustWait(taker: PacedTaker): boolean {
    if (this.#client.proxies !== null || !(this.#isNew || this.#wasRefused)) return false;
    return this.#wait(() => this.#ownSource, taker);
  }

  /** The same for a request on a connection from a trusted proxy, whose head has been read; false on others. */
  mustWaitFor(forwardedFor: string | undefined, taker: PacedTaker): boolean {
    if (this.#client.proxies === null) return false;
    return this.#wait(() => this.#forwardedSource(forwardedFor), taker);
  }

  /** The wait is over. */
  resume(): void {
    if (this.#waitsFor === undefined) return;
    this.#waitsFor = undefined;
    this.#isPaid = true;
  }

  /** The connection is gone. */
  leave(taker: PacedTaker): void {
    if (this.#waitsFor === undefined) return;
    this.#pace.leave(this.#waitsFor, taker);
    this.#waitsFor = undefined;
  }

  /** Notes that a request was not refused. */
  passed(): void {
    this.#isPaid = false;
    this.#isNew = false;
    this.#wasRefused = false;
  }

  /** Counts a refused request. `cost`: in refusals of the queue API. `forwardedFor`: of a request from a trusted proxy. */
  refused(cost = 1, forwardedFor?: string): void {
    const due = this.#isPaid ? cost - 1 : cost;
    if (due > 0) {
      const source = this.#client.proxies === null ? this.#ownSource : this.#forwardedSource(forwardedFor);
      this.#pace.charge(source, due);
    }
    this.#isPaid = false;
    this.#isNew = false;
    this.#wasRefused = true;
  }

  #wait(source: () => string, taker: PacedTaker): boolean {
    if (this.#isPaid || this.#pace.isCalm || !this.#pace.isExceeded(source())) return false;
    const waitsFor = source();
    if (this.#pace.wait(waitsFor, taker)) this.#waitsFor = waitsFor;
    else taker.destroy();
    return true;
  }

  get #ownSource(): string {
    this.#network ??= clientNetwork(this.#client.remoteAddress);
    return this.#isNew ? `new ${this.#network}` : this.#network;
  }

  #forwardedSource(forwardedFor: string | undefined): string {
    const { remoteAddress, proxies } = this.#client;
    return clientNetwork(clientAddress({ remoteAddress, forwardedFor }, proxies!));
  }
}
