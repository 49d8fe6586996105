import { Failure, notFound } from '../../core/errors.ts';
import type { SessionId, UserId } from '../../core/ids.ts';
import type { Admin } from '../access/actor.ts';
import { PERMISSIONS } from '../access/permissions.ts';
import type { Operation, Tx } from '../change.ts';
import { lockAdmins } from '../users/admins.ts';
import { deleteLocalSessions, deleteOtherSessions, deletePassword, updatePassword } from './password-store.ts';

/** Replaces a person's password, and ends their sessions in other browsers. Throws `conflict` for a user without one. */
export const changePassword: Operation<Tx, { id: UserId; sessionId: SessionId; passwordHash: string }, void> = {
  name: 'password.change',
  permission: PERMISSIONS.writeAccount,
  async run({ db, bus }, { id, sessionId, passwordHash }) {
    if (!(await updatePassword(db, id, passwordHash))) throw noLocalAccount();
    for (const ended of await deleteOtherSessions(db, id, sessionId)) bus.publish('session', ended);
  },
  subject: ({ id }) => id,
};

/**
 * Takes a user's password and passkeys away, and ends the sessions that began with them; providers and keys stay valid. Throws `notFound`
 * if there is no password.
 */
export const removePassword: Operation<Tx<Admin>, { id: UserId }, void> = {
  name: 'password.remove',
  permission: PERMISSIONS.writeUsers,
  async run({ db, actor: admin, bus }, { id }) {
    await lockAdmins(db, admin);
    if (!(await deletePassword(db, id))) throw notFound('Password');
    for (const ended of await deleteLocalSessions(db, id)) bus.publish('session', ended);
  },
  subject: ({ id }) => id,
  locksOthersFirst: true,
};

export function noLocalAccount(): Failure {
  return new Failure('conflict', 'You have no password here: ask an admin for an invitation.');
}
