import type { Clock } from '../../core/clock.ts';
import { Failure } from '../../core/errors.ts';
import { type KeyId, newId, newSecret, type UserId } from '../../core/ids.ts';
import type { Operation, Tx } from '../change.ts';
import type { Admin } from './actor.ts';
import { checkMaker, checkNewKey, KEY_PREFIX } from './create-api-key.ts';
import { type ApiKey, getKeyForUpdate, insertKey, updateKey } from './key-store.ts';
import { PERMISSIONS } from './permissions.ts';
import { hashSecret } from './secret-hash.ts';

export type KeyChange = Partial<Pick<ApiKey, 'name' | 'scopes' | 'expiresAt' | 'allowedNetworks' | 'isDisabled'>>;

/** How long a key stays valid beside its replacement. */
export const DEFAULT_OVERLAP_HOURS = 24;
const HOUR_MS = 3_600_000;

type KeyTx = Tx<Admin> & { clock: Clock };

/**
 * Changes a key; open streams that it no longer permits end within seconds. The caller may grant no more than the key in use has, as with a
 * new key. Throws `notFound`, `badRequest`, `forbidden`, and `conflict` if a key would disable itself.
 */
export const updateApiKey: Operation<KeyTx, { userId: UserId; keyId: KeyId; change: KeyChange }, ApiKey> = {
  name: 'key.update',
  permission: PERMISSIONS.writeKeys,
  async run({ db, actor: maker, bus, clock }, { userId, keyId, change }) {
    const before = await getKeyForUpdate(db, userId, keyId);
    const after = { ...before, ...change };
    if (change.isDisabled && maker?.keyId === keyId) {
      throw new Failure('conflict', 'this request was made with that key: disable it with another one');
    }
    const hasExpiry = change.expiresAt !== undefined;
    checkNewKey(clock, { scopes: after.scopes, expiresAt: hasExpiry ? after.expiresAt : null });
    const isWider = change.scopes !== undefined || change.isDisabled === false;
    if (maker) {
      await checkMaker(db, maker, {
        scopes: isWider ? after.scopes : [],
        ...(hasExpiry && { expiresAt: after.expiresAt }),
        ...((isWider || change.allowedNetworks) && { allowedNetworks: after.allowedNetworks }),
      });
    }
    await updateKey(db, after);
    bus.publish('key', keyId);
    return after;
  },
  subject: ({ keyId }) => keyId,
  target: ({ keyId }) => keyId,
};

/**
 * Makes a key that replaces another one, and may do the same for as long again. The replaced key stays valid for `overlapHours`, so that
 * programs can be changed meanwhile. Returns the new secret, which is stored nowhere. Throws `notFound`, `forbidden` as for a new key, and
 * `conflict` for a key that is disabled or has expired.
 */
export const rotateApiKey: Operation<
  KeyTx,
  { userId: UserId; keyId: KeyId; overlapHours: number },
  { key: ApiKey; secret: string }
> = {
  name: 'key.rotate',
  permission: PERMISSIONS.writeKeys,
  async run({ db, actor: maker, bus, clock }, { userId, keyId, overlapHours }) {
    const old = await getKeyForUpdate(db, userId, keyId);
    const now = clock.now();
    if (old.isDisabled) throw new Failure('conflict', 'the key is disabled: enable it first, or create another one');
    if (old.expiresAt !== null && old.expiresAt.getTime() <= now)
      throw new Failure('conflict', 'the key has expired: create another one');
    const expiresAt = old.expiresAt && new Date(now + old.expiresAt.getTime() - old.createdAt.getTime());
    const { name, scopes, allowedNetworks, restRevision } = old;
    const wanted = { userId, name, scopes, allowedNetworks, restRevision, expiresAt };
    const secret = newSecret(KEY_PREFIX);
    const createdBy = maker && (await checkMaker(db, maker, wanted));
    const key = await insertKey(db, { ...wanted, id: newId<KeyId>(), secretHash: hashSecret(secret), createdBy });
    const endsAt = new Date(now + overlapHours * HOUR_MS);
    const isSooner = old.expiresAt === null || endsAt < old.expiresAt;
    await updateKey(db, { ...old, name: `${name} (replaced)`, expiresAt: isSooner ? endsAt : old.expiresAt });
    bus.publish('key', keyId);
    return { key, secret };
  },
  subject: (_, { key }) => key.id,
  target: () => undefined,
};
