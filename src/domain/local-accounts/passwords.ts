import { Failure } from '../../core/errors.ts';
import type { SessionId, UserId } from '../../core/ids.ts';
import { PERMISSIONS } from '../access/permissions.ts';
import type { Operation, Tx } from '../change.ts';
import { deleteOtherSessions, updatePassword } from './password-store.ts';

/** Replaces a person's password, and ends their sessions in other browsers. Throws `conflict` for somebody without one. */
export const changePassword: Operation<Tx, { id: UserId; sessionId: SessionId; passwordHash: string }, void> = {
  name: 'password.change',
  permission: PERMISSIONS.writeAccount,
  async run({ db, bus }, { id, sessionId, passwordHash }) {
    if (!(await updatePassword(db, id, passwordHash))) throw noLocalAccount();
    for (const ended of await deleteOtherSessions(db, id, sessionId)) bus.publish('session', ended);
  },
  subject: ({ id }) => id,
};

export function noLocalAccount(): Failure {
  return new Failure('conflict', 'You have no password here: ask an admin for an invitation.');
}
