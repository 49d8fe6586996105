import { BoundedMap, BoundedSet } from '../../core/bounded-map.ts';
import { clientAddress, clientNetwork, type Peer, type TrustedAddresses } from '../../core/client-address.ts';
import { type Clock, monotonicClock } from '../../core/clock.ts';
import type { KeyId } from '../../core/ids.ts';
import type { Bus } from '../../db/bus.ts';
import { databaseFailure } from '../../db/database-fault.ts';
import type { Db } from '../../db/pool.ts';
import type { Actor } from './actor.ts';
import { GuessLimiter } from './guess-limiter.ts';
import { type ApiKey, findKeyBySecretHash } from './key-store.ts';
import { KeyWatch } from './key-watch.ts';
import { hashSecret } from './secret-hash.ts';

/**
 * Maps secrets to actors, from a cache where possible: the data plane asks on every request.
 *
 * A hint on the bus clears a key's entry, and no entry outlives `TTL_MS`, so that a revocation takes effect soon even if its
 * hint is lost. A look-up in flight during a hint is not cached, because it may have read the old row. Unknown secrets are
 * cached too, in a map of their own, so that guessing neither queries the database again for the same secret nor evicts
 * valid keys. A network that guesses many is refused without a query; keys that were valid here are still looked up for it.
 */
const TTL_MS = 10_000;
const MAX_ENTRIES = 10_000;
const MAX_SECRET_LENGTH = 256;
const NONE_TRUSTED: TrustedAddresses = { has: () => false };

interface Known {
  actor: Actor;
  /** When the entry expires: after the TTL or with the key, whichever is first. */
  untilMs: number;
}

export class KeyRing {
  readonly #deps: { pool: Db; clock: Clock; trustedProxies?: TrustedAddresses };
  readonly #guesses: GuessLimiter;
  readonly #known = new BoundedMap<string, Known>(MAX_ENTRIES);
  readonly #unknown = new BoundedMap<string, number>(MAX_ENTRIES);
  /** Secrets that were valid at their last look-up. */
  readonly #proven = new BoundedSet<string>(MAX_ENTRIES);
  readonly #inFlight = new Map<string, Promise<Actor | undefined>>();
  readonly #watch: KeyWatch;
  readonly #unsubscribe: () => void;
  #generation = 0;

  /** `trustedProxies`: none by default. */
  constructor(options: {
    pool: Db;
    bus: Pick<Bus, 'subscribe'>;
    clock: Clock;
    monotonic?: Clock;
    trustedProxies?: TrustedAddresses;
  }) {
    this.#deps = options;
    this.#guesses = new GuessLimiter(options.monotonic ?? monotonicClock);
    this.#watch = new KeyWatch(options);
    this.#unsubscribe = options.bus.subscribe('key', (keyId) => {
      this.#forgetKey(keyId);
      this.#watch.hint(keyId);
    });
  }

  /** Returns the actor if it is cached; undefined means "call `authenticate`", not "refuse". */
  peek(secret: string, hash: Buffer = hashSecret(secret)): Actor | undefined {
    return this.#recall(mapKey(hash));
  }

  /**
   * Returns undefined if the secret is unknown, revoked or expired. Throws `unavailable` if the database is unreachable, and
   * `tooManyRequests` if `peer`'s network has just tried many unknown secrets.
   */
  async authenticate(secret: string, peer?: Peer): Promise<Actor | undefined> {
    if (secret === '' || secret.length > MAX_SECRET_LENGTH) return undefined;
    const key = mapKey(hashSecret(secret));
    const known = this.#recall(key);
    if (known) return known;
    if ((this.#unknown.get(key) ?? 0) > this.#deps.clock.now()) return undefined;
    let lookUp = this.#inFlight.get(key);
    if (!lookUp) {
      lookUp = this.#countedLookUp(key, secret, peer).finally(() => {
        if (this.#inFlight.get(key) === lookUp) this.#inFlight.delete(key);
      });
      this.#inFlight.set(key, lookUp);
    }
    return lookUp;
  }

  /**
   * Calls `onEnd` within two seconds of the key's revocation or expiry, for what is open longer than its request took to
   * arrive: streams, held requests, tunnels. Returns the function that ends the watch: call it in every case.
   */
  onEnd(keyId: KeyId, onEnd: () => void): () => void {
    return this.#watch.onEnd(keyId, onEnd);
  }

  /** Ends the subscription; look-ups in flight still resolve. */
  close(): void {
    this.#unsubscribe();
    this.#watch.close();
    this.#forget();
  }

  #recall(key: string): Actor | undefined {
    const known = this.#known.get(key);
    return known !== undefined && known.untilMs > this.#deps.clock.now() ? known.actor : undefined;
  }

  async #countedLookUp(key: string, secret: string, peer: Peer | undefined): Promise<Actor | undefined> {
    if (peer === undefined || this.#proven.has(key)) return this.#lookUp(key, secret);
    const address = clientAddress(peer, this.#deps.trustedProxies ?? NONE_TRUSTED);
    const end = this.#guesses.begin(clientNetwork(address));
    let isRefused = false;
    try {
      const actor = await this.#lookUp(key, secret);
      isRefused = actor === undefined;
      return actor;
    } finally {
      end(isRefused);
    }
  }

  async #lookUp(key: string, secret: string): Promise<Actor | undefined> {
    const generation = this.#generation;
    const found = await findKeyBySecretHash(this.#deps.pool, hashSecret(secret)).catch((cause) => {
      throw databaseFailure(cause) ?? cause;
    });
    const now = this.#deps.clock.now();
    const expiresMs = found?.expiresAt?.getTime() ?? Number.POSITIVE_INFINITY;
    const isValid = found !== undefined && expiresMs > now;
    const actor = isValid ? toActor(found) : undefined;
    if (actor) this.#proven.add(key);
    else this.#proven.delete(key);
    if (generation !== this.#generation) return actor;
    if (actor) setLast(this.#known, key, { actor, untilMs: Math.min(now + TTL_MS, expiresMs) });
    else setLast(this.#unknown, key, now + TTL_MS);
    return actor;
  }

  /** Keys of workers come and go all the time, so the others stay cached. */
  #forgetKey(keyId: string): void {
    this.#generation += 1;
    for (const [key, { actor }] of this.#known) if (actor.keyId === keyId) this.#known.delete(key);
    this.#unknown.clear();
    this.#inFlight.clear();
  }

  #forget(): void {
    this.#generation += 1;
    this.#known.clear();
    this.#unknown.clear();
    this.#inFlight.clear();
  }
}

function toActor({ userId, id: keyId, scopes, restRevision }: ApiKey): Actor {
  return { userId, keyId, scopes, restRevision };
}

function mapKey(hash: Buffer): string {
  return hash.toString('latin1');
}

/** Sets an entry as the newest, so that a full map evicts the one looked up longest ago. */
function setLast<T>(map: Map<string, T>, key: string, value: T): void {
  map.delete(key);
  map.set(key, value);
}
