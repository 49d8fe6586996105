import { Failure, notFound } from '../../core/errors.ts';
import { newId, type PasskeyId, type UserId } from '../../core/ids.ts';
import { PERMISSIONS } from '../access/permissions.ts';
import type { Operation, Tx } from '../change.ts';
import { deletePasskey, insertPasskey, listPasskeys, type NewPasskey, updatePasskeyName } from './passkey-store.ts';
import { findAccount } from './password-store.ts';
import { noLocalAccount } from './passwords.ts';

const MAX_PASSKEYS = 20;

/** Adds a passkey to a local account. Throws `conflict` without one, for a passkey that is known, and for the twenty-first. */
export const createPasskey: Operation<Tx, { userId: UserId; key: NewPasskey }, PasskeyId> = {
  name: 'passkey.create',
  permission: PERMISSIONS.writeAccount,
  async run({ db }, { userId, key }) {
    if ((await findAccount(db, userId)) === undefined) throw noLocalAccount();
    if ((await listPasskeys(db, userId)).length >= MAX_PASSKEYS) {
      throw new Failure('conflict', `You have ${MAX_PASSKEYS} passkeys: remove one first.`);
    }
    const id = newId<PasskeyId>();
    if (!(await insertPasskey(db, id, userId, key))) throw new Failure('conflict', 'This passkey is known already.');
    return id;
  },
  subject: (_, id) => id,
};

/** Throws `notFound`. */
export const renamePasskey: Operation<Tx, { userId: UserId; id: PasskeyId; name: string }, void> = {
  name: 'passkey.rename',
  permission: PERMISSIONS.writeAccount,
  async run({ db }, { userId, id, name }) {
    if (!(await updatePasskeyName(db, userId, id, name))) throw notFound('Passkey');
  },
  subject: ({ id }) => id,
};

/** Removes a passkey here; the browser keeps its half, which opens nothing any more. Throws `notFound`. */
export const removePasskey: Operation<Tx, { userId: UserId; id: PasskeyId }, void> = {
  name: 'passkey.delete',
  permission: PERMISSIONS.writeAccount,
  async run({ db }, { userId, id }) {
    if (!(await deletePasskey(db, userId, id))) throw notFound('Passkey');
  },
  subject: ({ id }) => id,
};
