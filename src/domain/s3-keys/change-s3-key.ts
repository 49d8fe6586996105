import type { Clock } from '../../core/clock.ts';
import { Failure, notFound } from '../../core/errors.ts';
import { newId, newSecret, type S3KeyId } from '../../core/ids.ts';
import type { SecretBox } from '../../core/secret-box.ts';
import { checkMaker, checkNewKey } from '../access/create-api-key.ts';
import { PERMISSIONS } from '../access/permissions.ts';
import type { Operation, Tx } from '../change.ts';
import { sealSecret } from '../secrets/seal-secret.ts';
import type { S3Key } from './s3-key.ts';
import { deleteS3KeyRow, insertS3Key, listS3KeyRows } from './s3-key-store.ts';

/** So that a listing stays a page: more than one person needs. */
const MAX_KEYS = 100;
const ID_LENGTH = 20;

export type NewS3Key = Pick<S3Key, 'name' | 'scopes' | 'expiresAt'>;

/**
 * Creates an access key of S3 and returns its secret, which is stored sealed and never shown again. It may neither permit more
 * nor live longer than the API key that makes it, and it can be used from everywhere (throws `forbidden`).
 */
export const createS3Key: Operation<
  Tx & { clock: Clock; secretBox: SecretBox },
  NewS3Key,
  { key: S3Key; secret: string }
> = {
  name: 'accesskey.create',
  permission: PERMISSIONS.writeAccount,
  async run({ db, actor, clock, secretBox }, input) {
    checkNewKey(clock, input);
    const maker = await checkMaker(db, actor, input);
    if (maker.allowedNetworks.length > 0) {
      throw new Failure(
        'forbidden',
        'access denied: an S3 key can be used from everywhere, and the key that creates it only from its allowedAddresses',
      );
    }
    if ((await listS3KeyRows(db, actor.userId)).length >= MAX_KEYS)
      throw new Failure('forbidden', `a user may have ${MAX_KEYS} S3 keys: revoke one first`);
    const id = newId<S3KeyId>(ID_LENGTH);
    const secret = newSecret('pys');
    const sealed = await sealSecret(db, secretBox, secret, id);
    const row = { ...input, id, userId: actor.userId, secret: sealed, createdByKey: actor.keyId };
    return { key: await insertS3Key(db, row), secret };
  },
  subject: (_, { key }) => key.id,
};

/** Revokes a key: this process refuses it at once, others when they get the hint, at most 10 s later. Throws `notFound`. */
export const revokeS3Key: Operation<Tx, { keyId: S3KeyId }, void> = {
  name: 'accesskey.revoke',
  permission: PERMISSIONS.writeAccount,
  async run({ db, actor, bus }, { keyId }) {
    if (!(await deleteS3KeyRow(db, actor.userId, keyId))) throw notFound('S3 key');
    bus.publish('key', keyId);
  },
  subject: ({ keyId }) => keyId,
};
