import { Failure, notFound } from '../../core/errors.ts';
import { newSecret, type UserId } from '../../core/ids.ts';
import type { Admin } from '../access/actor.ts';
import { PERMISSIONS } from '../access/permissions.ts';
import { formatScope, parseScope, scopesCover } from '../access/scopes.ts';
import { hashSecret } from '../access/secret-hash.ts';
import type { Operation, Tx } from '../change.ts';
import { deleteSessionsOfUser } from '../sessions/session-store.ts';
import { lockAdmins } from '../users/admins.ts';
import { getUser, refuseRemoved } from '../users/change-user.ts';
import { deleteInvitation, type Invitation, replaceInvitation, takeInvitation } from './invitation-store.ts';
import { upsertPassword } from './password-store.ts';

const INVITATION_PREFIX = 'pyi';
export const DEFAULT_INVITATION_HOURS = 7 * 24;
export const MAX_INVITATION_HOURS = 30 * 24;
const HOUR_MS = 3_600_000;
/** The scopes of a session that began with a password. */
const GRANTED = ['all', 'exec', 'files:write'].map(parseScope);

/**
 * Makes a user's invitation, instead of the one before, and returns its secret, which is stored nowhere. Throws `notFound`; `conflict` for
 * a team, and for a user who is suspended or being deleted; `forbidden` for a key with fewer rights than the invited user gets.
 */
export const createInvitation: Operation<
  Tx<Admin>,
  { id: UserId; hours: number },
  { invitation: Invitation; secret: string }
> = {
  name: 'invitation.create',
  permission: PERMISSIONS.writeUsers,
  async run({ db, actor: admin }, { id, hours }) {
    checkMayInvite(admin);
    if (hours < 1 || hours > MAX_INVITATION_HOURS) {
      throw new Failure('unprocessable', `an invitation can be used for 1 to ${MAX_INVITATION_HOURS} hours`);
    }
    await lockAdmins(db, admin);
    const user = await getUser(db, id);
    refuseRemoved(user);
    if (user.kind === 'TEAM') throw new Failure('conflict', `'${user.name}' is a team, and only people sign in`);
    if (user.suspension !== null) throw new Failure('conflict', `'${user.name}' is suspended: resume them first`);
    const secret = newSecret(INVITATION_PREFIX);
    const secretHash = hashSecret(secret);
    const invitation = await replaceInvitation(db, { userId: id, secretHash, lifetimeMs: hours * HOUR_MS });
    return { invitation, secret };
  },
  subject: ({ id }) => id,
};

function checkMayInvite(admin: Admin): void {
  if (admin === null || GRANTED.every((scope) => scopesCover(admin.scopes, scope))) return;
  throw new Failure(
    'forbidden',
    `this key invites nobody: whoever is invited may do everything in their account, so inviting takes the scopes ${GRANTED.map(formatScope).join(', ')}`,
  );
}

/** Makes the link useless. Throws `notFound` if there is none. */
export const revokeInvitation: Operation<Tx<Admin>, { id: UserId }, void> = {
  name: 'invitation.revoke',
  permission: PERMISSIONS.writeUsers,
  async run({ db, actor: admin }, { id }) {
    await lockAdmins(db, admin);
    if (!(await deleteInvitation(db, id))) throw notFound('Invitation');
  },
  subject: ({ id }) => id,
};

/**
 * Sets the invited user's password, and ends their sessions. Throws `notFound` for a link that was used, replaced or revoked or has
 * expired, and `forbidden` for a user who is suspended or being deleted; that leaves the link as it is.
 */
export const acceptInvitation: Operation<Tx<Admin>, { id: UserId; secret: string; passwordHash: string }, void> = {
  name: 'invitation.accept',
  permission: PERMISSIONS.writeAccount,
  async run({ db, bus }, { id, secret, passwordHash }) {
    const user = await getUser(db, id);
    if (user.suspension !== null || user.removingAt !== null) throw accountSuspended();
    if (!(await takeInvitation(db, id, hashSecret(secret)))) throw invitationGone();
    await upsertPassword(db, id, passwordHash);
    await deleteSessionsOfUser(db, id);
    bus.publish('user', id);
  },
  subject: ({ id }) => id,
};

export function invitationGone(): Failure {
  return new Failure(
    'notFound',
    'This invitation was used, replaced or revoked, or has expired: ask an admin for another.',
  );
}

export function accountSuspended(): Failure {
  return new Failure('forbidden', 'This account is suspended: ask an admin of this server.');
}
