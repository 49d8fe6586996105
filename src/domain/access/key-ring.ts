import type { Clock } from '../../core/clock.ts';
import { Failure } from '../../core/errors.ts';
import type { Bus } from '../../db/bus.ts';
import { type Db, sqlState } from '../../db/pool.ts';
import type { Actor } from './actor.ts';
import { findKeyBySecretHash } from './key-store.ts';
import { hashSecret } from './secret-hash.ts';

/**
 * Turns secrets into actors, from memory wherever it can: the data plane asks on every request.
 *
 * What is remembered goes stale in two ways. A hint on the bus drops all of it at once, and no answer outlives
 * `REMEMBER_MS`, so a revocation whose hint was lost still counts soon. A look-up that was under way when a hint came is
 * not remembered: it may have read the row as it was before.
 * Unknown secrets are remembered too, in a map of their own, so that guessing can neither load the database with one
 * query per guess of the same secret nor push valid keys out of memory.
 */
const REMEMBER_MS = 10_000;
const MAX_REMEMBERED = 10_000;
const MAX_SECRET_LENGTH = 256;

interface Known {
  actor: Actor;
  /** Until when this answer holds: the memory's limit or the key's own expiry, whichever is first. */
  untilMs: number;
}

export class KeyRing {
  readonly #db: Db;
  readonly #clock: Clock;
  readonly #known = new Map<string, Known>();
  readonly #unknown = new Map<string, number>();
  readonly #underWay = new Map<string, Promise<Actor | undefined>>();
  readonly #unsubscribe: () => void;
  #generation = 0;

  constructor(options: { pool: Db; bus: Pick<Bus, 'subscribe'>; clock: Clock }) {
    this.#db = options.pool;
    this.#clock = options.clock;
    this.#unsubscribe = options.bus.subscribe('key', () => this.#forget());
  }

  /** The actor if it is in memory; undefined means "ask `authenticate`", not "refuse". */
  peek(secret: string, hash: Buffer = hashSecret(secret)): Actor | undefined {
    return this.#recall(mapKey(hash));
  }

  /** Undefined for a secret that is unknown, revoked or expired. Throws `unavailable` when the database is gone. */
  async authenticate(secret: string): Promise<Actor | undefined> {
    if (secret === '' || secret.length > MAX_SECRET_LENGTH) return undefined;
    const key = mapKey(hashSecret(secret));
    const known = this.#recall(key);
    if (known) return known;
    if ((this.#unknown.get(key) ?? 0) > this.#clock.now()) return undefined;
    let lookUp = this.#underWay.get(key);
    if (!lookUp) {
      lookUp = this.#lookUp(key, secret).finally(() => {
        if (this.#underWay.get(key) === lookUp) this.#underWay.delete(key);
      });
      this.#underWay.set(key, lookUp);
    }
    return lookUp;
  }

  /** Ends the subscription; what is under way still answers. */
  close(): void {
    this.#unsubscribe();
    this.#forget();
  }

  #recall(key: string): Actor | undefined {
    const known = this.#known.get(key);
    return known !== undefined && known.untilMs > this.#clock.now() ? known.actor : undefined;
  }

  async #lookUp(key: string, secret: string): Promise<Actor | undefined> {
    const generation = this.#generation;
    const found = await findKeyBySecretHash(this.#db, hashSecret(secret)).catch((cause) => {
      if (sqlState(cause) !== undefined) throw cause;
      throw new Failure('unavailable', 'the database is not reachable', { cause });
    });
    const now = this.#clock.now();
    const expiresMs = found?.expiresAt?.getTime() ?? Number.POSITIVE_INFINITY;
    const isValid = found !== undefined && expiresMs > now;
    const actor = isValid ? { userId: found.userId, keyId: found.id, scopes: found.scopes } : undefined;
    if (generation !== this.#generation) return actor;
    if (actor) remember(this.#known, key, { actor, untilMs: Math.min(now + REMEMBER_MS, expiresMs) });
    else remember(this.#unknown, key, now + REMEMBER_MS);
    return actor;
  }

  #forget(): void {
    this.#generation += 1;
    this.#known.clear();
    this.#unknown.clear();
    this.#underWay.clear();
  }
}

function mapKey(hash: Buffer): string {
  return hash.toString('latin1');
}

/** Puts an entry last and drops the first, so that a full map loses what was remembered longest ago. */
function remember<T>(map: Map<string, T>, key: string, value: T): void {
  map.delete(key);
  map.set(key, value);
  if (map.size > MAX_REMEMBERED) map.delete(map.keys().next().value!);
}
