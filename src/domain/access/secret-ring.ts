import { isIP } from 'node:net';
import { BoundedMap, BoundedSet } from '../../core/bounded-map.ts';
import { clientAddress, clientNetwork, type Peer, type TrustedAddresses } from '../../core/client-address.ts';
import { type Clock, isAhead, monotonicClock } from '../../core/clock.ts';
import { Failure } from '../../core/errors.ts';
import type { UserId } from '../../core/ids.ts';
import type { Bus } from '../../db/bus.ts';
import { databaseFailure } from '../../db/database-fault.ts';
import type { Db } from '../../db/pool.ts';
import { NetworkList } from '../images/network-list.ts';
import type { Actor } from './actor.ts';
import { GuessLimiter } from './guess-limiter.ts';
import { KeyWatch, type OpenUse } from './key-watch.ts';
import { findLiveUses } from './live-uses.ts';
import { hashSecret, hashText } from './secret-hash.ts';
import { SecretUse } from './secret-use.ts';

/**
 * Maps the secrets of one kind, keys or sessions, to actors, from a cache where possible: the data plane asks on every request.
 *
 * A hint on the bus clears an entry, and no entry outlives `TTL_MS`, so that a revocation takes effect soon even if its
 * hint is lost. A look-up in flight during a hint is not cached, because it may have read the old row. Unknown secrets are
 * cached too, in a map of their own, so that guessing neither queries the database again for the same secret nor evicts
 * valid ones. A network that guesses many is refused without a query; secrets that were valid here are still looked up for it.
 *
 * Secrets of a suspended user are never cached as valid: each request with one is refused after a look-up, or from a third map. Nor are
 * those that may be used from some networks only, so that each use is checked.
 */
const TTL_MS = 10_000;
const MAX_ENTRIES = 10_000;
const MAX_SECRET_LENGTH = 256;
const NONE_TRUSTED: TrustedAddresses = { has: () => false };

/** A kind of secrets: how it is looked up, and how its use is recorded. */
export interface SecretKind {
  /** The topics that name a key or a session. */
  topics: readonly ('key' | 'session')[];
  find(db: Db, secretHash: Buffer): Promise<FoundSecret | undefined>;
  /** Returns those of `ids` that are valid, with their end in ms since 1970, infinite for none. */
  findLive(db: Db, ids: readonly string[]): Promise<Map<string, number>>;
  /** Records that they were used now. */
  updateUsed(db: Db, ids: readonly string[]): Promise<void>;
}

/** The secret that a look-up finds. */
export interface FoundSecret {
  id: string;
  actor: Actor;
  /** The key that a session ends with. */
  keyId?: string | null;
  /** Its user is suspended, or being deleted: it is refused. */
  isSuspended: boolean;
  isRemoving: boolean;
  lastUsedAt: Date | null;
  /** The addresses and networks that it may be used from. None: from everywhere. */
  allowedNetworks: readonly string[];
  /** When it expires, in ms since 1970; infinite: never. */
  endsMs: number;
}

interface Known {
  actor: Actor;
  /** The ids whose hints concern it. */
  ids: readonly unknown[];
  /** When the entry expires: after the TTL or with the secret, whichever is first. */
  untilMs: number;
}

/** The outcome of a look-up: an actor, a secret that is valid but refused, or nothing. */
type Outcome = Actor | Refused | Bound | undefined;

/** A secret that may be used from some networks only. */
interface Bound {
  actor: Actor;
  networks: NetworkList;
  untilMs: number;
}

/** A secret of a suspended user. */
interface Refused {
  userId: UserId;
  isRemoving: boolean;
  untilMs: number;
}

/** The dependencies of a ring. */
export interface RingDeps {
  pool: Db;
  bus: Pick<Bus, 'subscribe'>;
  clock: Clock;
  monotonic?: Clock;
  /** None by default. */
  trustedProxies?: TrustedAddresses;
  /** Called for an unknown key, or one that may not be used from there. `actor`: null for an unknown key. */
  onRefused?: (refused: RefusedKey) => void;
}

/** A key that was refused. */
export interface RefusedKey {
  actor: Actor | null;
  address: string;
  reason: string;
}

export class SecretRing {
  readonly #kind: SecretKind;
  readonly #deps: Pick<RingDeps, 'pool' | 'clock' | 'trustedProxies' | 'onRefused'>;
  readonly #guesses: GuessLimiter;
  readonly #known = new BoundedMap<string, Known>(MAX_ENTRIES);
  readonly #unknown = new BoundedMap<string, number>(MAX_ENTRIES);
  /** Secrets that were valid at their last look-up. */
  readonly #proven = new BoundedSet<string>(MAX_ENTRIES);
  readonly #refused = new BoundedMap<string, Refused>(MAX_ENTRIES);
  readonly #bound = new BoundedMap<string, Bound>(MAX_ENTRIES);
  readonly #inFlight = new Map<string, Promise<Outcome>>();
  readonly #watch: KeyWatch;
  readonly #use: SecretUse;
  readonly #unsubscribe: readonly (() => void)[];
  #generation = 0;

  constructor(kind: SecretKind, deps: RingDeps) {
    this.#kind = kind;
    this.#deps = deps;
    this.#guesses = new GuessLimiter(deps.monotonic ?? monotonicClock);
    this.#watch = new KeyWatch({ ...deps, findLive: (db, uses) => findLiveUses(db, uses, kind.findLive) });
    this.#use = new SecretUse({ ...deps, updateUsed: kind.updateUsed });
    this.#unsubscribe = [
      ...kind.topics.map((topic) =>
        deps.bus.subscribe(topic, (id) => {
          this.#forgetThose(({ ids }) => ids.includes(id));
          this.#watch.hint(id);
        }),
      ),
      deps.bus.subscribe('user', (userId) => {
        this.#forgetThose(({ actor }) => actor.userId === userId);
        this.#watch.hintAll();
      }),
    ];
  }

  /** Returns the actor if it is cached; undefined means "call `authenticate`", not "refuse". `key`: the `hashText` of the secret. */
  peek(secret: string, key: string = hashText(hashSecret(secret))): Actor | undefined {
    return this.#recall(key);
  }

  /**
   * Returns undefined if the secret is unknown, revoked, disabled or expired. Throws `forbidden` if its user is suspended or it may not be
   * used from `peer`, `unavailable` if the database is unreachable, and `tooManyRequests` if `peer`'s network has just tried many unknown secrets.
   */
  async authenticate(secret: string, peer?: Peer): Promise<Actor | undefined> {
    if (secret === '' || secret.length > MAX_SECRET_LENGTH) return undefined;
    const key = hashText(hashSecret(secret));
    const known = this.#recall(key);
    if (known) return known;
    const now = this.#deps.clock.now();
    if (isAhead(this.#unknown.get(key) ?? 0, now, TTL_MS)) return undefined;
    const refused = this.#refused.get(key);
    if (refused && isAhead(refused.untilMs, now, TTL_MS)) throw suspended(refused);
    const bound = this.#bound.get(key);
    if (bound && isAhead(bound.untilMs, now, TTL_MS)) return this.#fromAllowed(bound, peer);
    let lookUp = this.#inFlight.get(key);
    if (!lookUp) {
      lookUp = this.#countedLookUp(key, secret, peer).finally(() => {
        if (this.#inFlight.get(key) === lookUp) this.#inFlight.delete(key);
      });
      this.#inFlight.set(key, lookUp);
    }
    const outcome = await lookUp;
    if (outcome === undefined && peer) this.#report(null, peer, 'unauthorized: nobody has this key, or it has ended');
    if (outcome && 'isRemoving' in outcome) throw suspended(outcome);
    return outcome && 'networks' in outcome ? this.#fromAllowed(outcome, peer) : outcome;
  }

  /** Notifies `open` within two seconds of the end of what it depends on (`useIdOf`). End each watch with `unwatchUse`. */
  watchUse(id: string, open: OpenUse): void {
    this.#watch.add(id, open);
  }

  unwatchUse(id: string, open: OpenUse): void {
    this.#watch.delete(id, open);
  }

  /** Returns the client's address, as trusted proxies say it. */
  addressOf(peer: Peer): string {
    return clientAddress(peer, this.#deps.trustedProxies ?? NONE_TRUSTED);
  }

  /** Ends the subscriptions; look-ups in flight still resolve. */
  close(): void {
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
    this.#watch.close();
    this.#forget();
  }

  /** The refusal does not say from where the secret may be used. */
  #fromAllowed({ actor, networks }: Bound, peer: Peer | undefined): Actor {
    const address = peer === undefined ? '' : this.addressOf(peer);
    if (isIP(address) !== 0 && networks.has(address)) return actor;
    if (peer) this.#report(actor, peer, 'forbidden: the key may not be used from this address');
    throw new Failure('forbidden', 'this key may not be used from your address');
  }

  #report(actor: Actor | null, peer: Peer, reason: string): void {
    this.#deps.onRefused?.({ actor, address: this.addressOf(peer), reason });
  }

  #recall(key: string): Actor | undefined {
    const known = this.#known.get(key);
    return known !== undefined && isAhead(known.untilMs, this.#deps.clock.now(), TTL_MS) ? known.actor : undefined;
  }

  async #countedLookUp(key: string, secret: string, peer: Peer | undefined): Promise<Outcome> {
    if (peer === undefined || this.#proven.has(key)) return this.#lookUp(key, secret);
    const end = await this.#guesses.begin(clientNetwork(this.addressOf(peer)));
    let isRefused = false;
    try {
      const outcome = await this.#lookUp(key, secret);
      isRefused = outcome === undefined;
      return outcome;
    } finally {
      end(isRefused);
    }
  }

  async #lookUp(key: string, secret: string): Promise<Outcome> {
    const generation = this.#generation;
    const found = await this.#kind.find(this.#deps.pool, hashSecret(secret)).catch((cause) => {
      throw databaseFailure(cause) ?? cause;
    });
    const now = this.#deps.clock.now();
    const outcome = toOutcome(found, now);
    if (outcome) this.#proven.add(key);
    else this.#proven.delete(key);
    if (outcome && !('isRemoving' in outcome)) this.#use.note(found!);
    if (generation !== this.#generation) return outcome;
    if (outcome === undefined) setLast(this.#unknown, key, now + TTL_MS);
    else if ('isRemoving' in outcome) setLast(this.#refused, key, outcome);
    else if ('networks' in outcome) setLast(this.#bound, key, outcome);
    else setLast(this.#known, key, toKnown(found!, now));
    return outcome;
  }

  /** Keys of workers come and go all the time, so the others stay cached. */
  #forgetThose(isMeant: (known: Known) => boolean): void {
    this.#generation += 1;
    for (const [key, known] of this.#known) if (isMeant(known)) this.#known.delete(key);
    this.#unknown.clear();
    this.#refused.clear();
    this.#bound.clear();
    this.#inFlight.clear();
  }

  #forget(): void {
    this.#generation += 1;
    this.#known.clear();
    this.#unknown.clear();
    this.#refused.clear();
    this.#bound.clear();
    this.#inFlight.clear();
  }
}

function toOutcome(found: FoundSecret | undefined, now: number): Outcome {
  if (found === undefined || found.endsMs <= now) return undefined;
  const { actor, isSuspended, isRemoving, allowedNetworks, endsMs } = found;
  const untilMs = Math.min(now + TTL_MS, endsMs);
  if (isSuspended) return { userId: actor.userId, isRemoving, untilMs };
  return allowedNetworks.length === 0 ? actor : { actor, networks: new NetworkList(allowedNetworks), untilMs };
}

function toKnown({ id, keyId, actor, endsMs }: FoundSecret, now: number): Known {
  return { actor, ids: [id, keyId], untilMs: Math.min(now + TTL_MS, endsMs) };
}

/** The refusal of a valid secret, whose holder may know why. */
function suspended({ isRemoving }: Refused): Failure {
  const why = isRemoving ? 'this account is being deleted' : 'this account is suspended';
  return new Failure('forbidden', `${why}: ask an admin of this server`);
}

/** Sets an entry as the newest, so that a full map evicts the one looked up longest ago. */
function setLast<T>(map: Map<string, T>, key: string, value: T): void {
  map.delete(key);
  map.set(key, value);
}
