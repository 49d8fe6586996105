import { BoundedMap } from '../../core/bounded-map.ts';
import { type Clock, isAhead } from '../../core/clock.ts';
import type { KeyId, S3KeyId } from '../../core/ids.ts';
import type { SecretBox } from '../../core/secret-box.ts';
import type { Bus } from '../../db/bus.ts';
import type { Db } from '../../db/pool.ts';
import type { Actor } from '../access/actor.ts';
import { findS3Key, updateS3KeyUsed } from './s3-key-store.ts';

const TTL_MS = 10_000;
const MAX_ENTRIES = 10_000;
const MAX_ID_LENGTH = 128;

/** The signer behind a key, and the secret that the signature is checked with. */
export interface Signer {
  actor: Actor;
  secret: string;
}

/**
 * Maps access key ids to signers. An entry lives for ten seconds, also that of an unknown id, and ends with a hint of the key or its
 * user, as in the ring of API keys.
 */
export class S3KeyRing {
  readonly #deps: { pool: Db; clock: Clock; secretBox: SecretBox };
  readonly #known = new BoundedMap<string, { signer: Signer | null; untilMs: number }>(MAX_ENTRIES);
  readonly #unsubscribe: readonly (() => void)[];
  #generation = 0;

  constructor(deps: { pool: Db; bus: Pick<Bus, 'subscribe'>; clock: Clock; secretBox: SecretBox }) {
    this.#deps = deps;
    const forget = () => {
      this.#generation += 1;
      this.#known.clear();
    };
    this.#unsubscribe = [deps.bus.subscribe('key', forget), deps.bus.subscribe('user', forget)];
  }

  /** Returns null if the key is unknown, revoked or expired, or its user suspended. */
  async find(id: string): Promise<Signer | null> {
    if (id.length > MAX_ID_LENGTH) return null;
    const known = this.#known.get(id);
    if (known && isAhead(known.untilMs, this.#deps.clock.now(), TTL_MS)) return known.signer;
    const generation = this.#generation;
    const { signer, untilMs } = await this.#read(id);
    if (generation === this.#generation) this.#known.set(id, { signer, untilMs });
    return signer;
  }

  close(): void {
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
  }

  async #read(id: string): Promise<{ signer: Signer | null; untilMs: number }> {
    const { pool, clock, secretBox } = this.#deps;
    const key = await findS3Key(pool, id);
    const now = clock.now();
    const expiresMs = key?.expiresAt?.getTime() ?? Number.POSITIVE_INFINITY;
    if (!key || key.isSuspended || expiresMs <= now) return { signer: null, untilMs: now + TTL_MS };
    await updateS3KeyUsed(pool, id as S3KeyId);
    const actor = { userId: key.userId, keyId: id as string as KeyId, scopes: key.scopes };
    return { signer: { actor, secret: secretBox.open(key.secret, id) }, untilMs: Math.min(now + TTL_MS, expiresMs) };
  }
}
