import type { Contention } from './contention.ts';
import type { Sharing, WaitingWorker } from './sharing.ts';
import { MAX_PAUSE_MS } from './start-record.ts';

/** The waiting workers of an endpoint, the one that has waited longest first. */
export interface Turn {
  endpointId: string;
  userId: string;
  workers: WaitingWorker[];
  /** Its starts fail: it gets only what no other endpoint wants. */
  isLast: boolean;
  /** Workers of others were looked for already. */
  hasPreempted: boolean;
}

/** Decides between two that wait: the one that holds less comes first, then the longer wait. */
interface Need {
  held: number;
  waitedMs: number;
}

interface UserQueue {
  userId: string;
  need: Need;
  turns: { turn: Turn; need: Need }[];
  /** It is in the list of users. */
  isListed: boolean;
}

export interface FairOrder {
  next: () => Turn | undefined;
  /** Call after each `next`, when the endpoint holds what it was given. */
  putBack: (turn: Turn) => void;
}

/**
 * Orders endpoints by turns: the user first that holds least beyond the quota, then the endpoint of that user that holds least. Among
 * equals, the one that has waited longest relative to its share: the endpoints of a user divide the user's share. An endpoint that got
 * nothing for very long comes first. Endpoints whose starts fail come last, but compete once they have waited for as long as the longest
 * pause.
 */
export function fairOrder({ waiting, recordOf, now }: Sharing, contention: Contention): FairOrder {
  const turns = new Map<string, Turn>();
  for (const worker of [...waiting].sort((a, b) => a.waitsSince - b.waitsSince || (a.id < b.id ? -1 : 1))) {
    const { endpointId, userId } = worker;
    const turn = turns.get(endpointId);
    if (turn) turn.workers.push(worker);
    else {
      const isBroken = recordOf?.(endpointId).isBroken === true;
      const isLast = isBroken && now - worker.waitsSince < MAX_PAUSE_MS;
      turns.set(endpointId, { endpointId, userId, workers: [worker], isLast, hasPreempted: isBroken });
    }
  }
  const all = [...turns.values()].reverse(); // among equals, the first one is the last to be put in
  const hasReservation = (turn: Turn) => !turn.isLast && contention.hasReservation(turn.endpointId);
  // These are served first: what they do not take is free for the others in the same run.
  const reserved = all.filter(hasReservation);
  const isStarving = (turn: Turn) => !turn.isLast && contention.isStarving(turn.workers[0]!);
  const others = all.filter((turn) => !hasReservation(turn));
  const starving = others.filter(isStarving);
  const inTurn = others.filter((turn) => !isStarving(turn));
  const healthy = new UserQueues(
    inTurn.filter(({ isLast }) => !isLast),
    contention,
    now,
  );
  const last = new UserQueues(
    inTurn.filter(({ isLast }) => isLast),
    contention,
    now,
  );
  return {
    next: () => reserved.pop() ?? starving.pop() ?? healthy.next() ?? last.next(),
    putBack: (turn) => (turn.isLast ? last : healthy).add(turn),
  };
}

/** Two levels of sorted lists; the neediest is at the end, for `pop`. */
class UserQueues {
  readonly #contention: Contention;
  readonly #now: number;
  readonly #users = new Map<string, UserQueue>();
  readonly #sorted: UserQueue[] = [];

  constructor(turns: readonly Turn[], contention: Contention, now: number) {
    this.#contention = contention;
    this.#now = now;
    for (const [userId, own] of Map.groupBy(turns, (turn) => turn.userId)) {
      const queue = this.#queueOf(userId);
      queue.turns = own.map((turn) => ({ turn, need: this.#needOf(turn) })).sort((a, b) => -compare(a.need, b.need));
      queue.isListed = true;
      this.#sorted.push(this.#withNeed(queue));
    }
    this.#sorted.sort((a, b) => -compare(a.need, b.need));
  }

  next(): Turn | undefined {
    const queue = this.#sorted.pop();
    if (queue) queue.isListed = false;
    return queue?.turns.pop()?.turn;
  }

  add(turn: Turn): void {
    const queue = this.#queueOf(turn.userId);
    if (queue.isListed) this.#sorted.splice(this.#sorted.indexOf(queue), 1);
    if (turn.workers.length > 0) insert(queue.turns, { turn, need: this.#needOf(turn) });
    queue.isListed = queue.turns.length > 0;
    if (queue.isListed) insert(this.#sorted, this.#withNeed(queue));
  }

  #queueOf(userId: string): UserQueue {
    const known = this.#users.get(userId);
    if (known) return known;
    const queue: UserQueue = { userId, need: { held: 0, waitedMs: 0 }, turns: [], isListed: false };
    this.#users.set(userId, queue);
    return queue;
  }

  #needOf({ endpointId, workers }: Turn): Need {
    return { held: this.#contention.heldBy(endpointId), waitedMs: this.#now - workers[0]!.waitsSince };
  }

  #withNeed(queue: UserQueue): UserQueue {
    const waitedMs = queue.turns.at(-1)!.need.waitedMs / this.#contention.endpointsOf(queue.userId);
    queue.need = { held: this.#contention.beyondQuota(queue.userId), waitedMs };
    return queue;
  }
}

/** Negative when `a` needs it more. */
function compare(a: Need, b: Need): number {
  return a.held - b.held || b.waitedMs - a.waitedMs;
}

function insert<T extends { need: Need }>(sorted: T[], entry: T): void {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (compare(sorted[middle]!.need, entry.need) > 0) low = middle + 1;
    else high = middle;
  }
  sorted.splice(low, 0, entry);
}
