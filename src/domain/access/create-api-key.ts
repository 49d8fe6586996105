import type { Clock } from '../../core/clock.ts';
import { Failure, notFound } from '../../core/errors.ts';
import { type KeyId, newId, newSecret, type UserId } from '../../core/ids.ts';
import type { RestRevision } from '../../core/rest-revisions.ts';
import type { Db } from '../../db/pool.ts';
import type { Operation, Tx } from '../change.ts';
import { findSessionForShare } from '../sessions/session-store.ts';
import type { Actor, Admin } from './actor.ts';
import { type ApiKey, findKeyForShare, insertKey, updateKeyRevoked } from './key-store.ts';
import { PERMISSIONS } from './permissions.ts';
import { type Scope, scopesCover } from './scopes.ts';
import { hashSecret } from './secret-hash.ts';

export const KEY_PREFIX = 'pyk';

export interface NewApiKey {
  userId: UserId;
  name: string;
  scopes: readonly Scope[];
  expiresAt: Date | null;
  /** Null: what the server is set to. The default. */
  restRevision?: RestRevision | null;
  /** Addresses and networks. None, the default: from everywhere. */
  allowedNetworks?: readonly string[];
}

/**
 * Creates a key and returns its secret, which is stored nowhere. The new key may neither permit more nor live longer than that of
 * its maker (throws `forbidden`).
 */
export const createApiKey: Operation<Tx<Admin> & { clock: Clock }, NewApiKey, { key: ApiKey; secret: string }> = {
  name: 'key.create',
  permission: PERMISSIONS.writeKeys,
  async run({ db, actor: maker, bus, clock }, input) {
    checkNewKey(clock, input);
    const secret = newSecret(KEY_PREFIX);
    const createdBy =
      maker && (await checkMaker(db, maker, { ...input, allowedNetworks: input.allowedNetworks ?? [] }));
    const key = await insertKey(db, { ...input, id: newId<KeyId>(), secretHash: hashSecret(secret), createdBy });
    bus.publish('key', key.id);
    return { key, secret };
  },
  subject: (_, { key }) => key.id,
};

/** Revokes a key: this process refuses it at once, others when they get the hint, at most 10 s later. Throws `notFound`. */
export const revokeApiKey: Operation<Tx<Admin>, { userId: UserId; keyId: KeyId }, void> = {
  name: 'key.revoke',
  permission: PERMISSIONS.writeKeys,
  async run({ db, bus }, { userId, keyId }) {
    if (!(await updateKeyRevoked(db, userId, keyId))) throw notFound('API key');
    bus.publish('key', keyId);
  },
  subject: ({ keyId }) => keyId,
  target: ({ keyId }) => keyId,
};

/** Throws `badRequest` for a key without scopes, or one that has expired. */
export function checkNewKey(clock: Clock, { scopes, expiresAt }: Pick<NewApiKey, 'scopes' | 'expiresAt'>): void {
  if (scopes.length === 0) throw new Failure('badRequest', 'scopes: a key needs at least one scope');
  if (expiresAt !== null && expiresAt.getTime() <= clock.now()) {
    throw new Failure('badRequest', 'expiresAt: must be in the future');
  }
}

/** The most that a new key may have, and the key that makes it; null: a person, restricted by no key. */
interface Grant extends Pick<NewApiKey, 'scopes' | 'expiresAt'> {
  keyId: KeyId | null;
  allowedNetworks: readonly string[];
}

/**
 * Returns the maker of a new or changed key, and from where its own key may be used. Throws `forbidden` if the key would permit more, live longer, or be usable from elsewhere than
 * the maker's, which is locked against revocation. What is absent is not compared.
 */
export async function checkMaker(
  db: Db,
  maker: Actor,
  { scopes, expiresAt, allowedNetworks }: Partial<Pick<NewApiKey, 'scopes' | 'expiresAt' | 'allowedNetworks'>>,
): Promise<{ userId: UserId } & Pick<Grant, 'keyId' | 'allowedNetworks'>> {
  const makersKey = await findGrant(db, maker);
  if (!(scopes ?? []).every((scope) => scopesCover(makersKey.scopes, scope))) {
    throw new Failure('forbidden', 'access denied: a key cannot grant more than the key that creates it');
  }
  if (
    makersKey.expiresAt !== null &&
    expiresAt !== undefined &&
    (expiresAt === null || expiresAt > makersKey.expiresAt)
  ) {
    throw new Failure('forbidden', 'access denied: a key cannot expire later than the key that creates it');
  }
  const makers = makersKey.allowedNetworks;
  const madeBy = { userId: maker.personId ?? maker.userId, keyId: makersKey.keyId, allowedNetworks: makers };
  if (makers.length === 0 || allowedNetworks === undefined) return madeBy;
  if (allowedNetworks.length === 0 || !allowedNetworks.every((network) => makers.includes(network))) {
    throw new Failure(
      'forbidden',
      'access denied: a key cannot be used from elsewhere than the key that creates it: allowedAddresses must be some of that key’s',
    );
  }
  return madeBy;
}

/**
 * Returns what a request's key or session may hand on to a key that it makes, locked against its end until the commit. Throws
 * `unauthorized` if it ended meanwhile.
 */
export async function findGrant(db: Db, maker: Actor): Promise<Grant> {
  const { sessionId } = maker;
  if (sessionId !== undefined) {
    const session = await findSessionForShare(db, sessionId);
    if (!session) throw new Failure('unauthorized', 'the session has ended: sign in again');
    return session;
  }
  const key = await findKeyForShare(db, maker.personId ?? maker.userId, maker.keyId);
  if (!key) throw new Failure('unauthorized', 'invalid bearer token');
  return { ...key, keyId: key.id };
}
