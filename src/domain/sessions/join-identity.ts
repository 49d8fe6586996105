import { Failure } from '../../core/errors.ts';
import type { UserId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';
import type { Admin } from '../access/actor.ts';
import { PERMISSIONS } from '../access/permissions.ts';
import { refuseUserBesideProcesses } from '../access/refuse-shared-processes.ts';
import type { Role } from '../access/roles.ts';
import { createUser, findUserByName, findUserForUpdate, type User, updateUserFields } from '../access/users.ts';
import type { Operation, Tx } from '../change.ts';
import { lockAdmins } from '../users/admins.ts';
import { findUserOfIdentity, findUsersByEmail, type Identity, upsertIdentity } from './identity-store.ts';
import { deleteSessionsOfUser } from './session-store.ts';

export interface JoinedIdentity extends Identity {
  /** What they call themselves there. */
  name: string;
  isEmailVerified: boolean;
  /** What their groups make them; null: roles are given here. */
  role: Role | null;
  /** A verified e-mail joins them to the user who has it. */
  joinByEmail: boolean;
}

/**
 * Finds, joins or creates the user of somebody whom a provider has just vouched for, and gives them the role of their groups; a new role
 * ends their sessions. The last active admin stays one. Throws `forbidden` for a suspended user, and `conflict` for an e-mail that
 * another user has.
 */
export const joinIdentity: Operation<Tx<Admin> & { facts: { takesSeveralUsers: boolean } }, JoinedIdentity, UserId> = {
  name: 'identity.join',
  permission: PERMISSIONS.writeUsers,
  async run({ db, bus, facts }, input) {
    const admins = await lockAdmins(db, null);
    const known = (await findUserOfIdentity(db, input)) ?? (await findByEmail(db, input));
    if (known === undefined && !facts.takesSeveralUsers) await refuseUserBesideProcesses(db);
    const user = known === undefined ? await createUserOf(db, input) : await getActiveUser(db, known);
    await upsertIdentity(db, user.id, input);
    const isLastAdmin = admins.has(user.id) && admins.size === 1;
    if (input.role !== null && input.role !== user.role && !isLastAdmin) {
      await updateUserFields(db, user.id, { role: input.role });
      await deleteSessionsOfUser(db, user.id);
      bus.publish('user', user.id);
    }
    return user.id;
  },
  subject: (_, userId) => userId,
};

async function findByEmail(
  db: Db,
  { email, isEmailVerified, joinByEmail }: JoinedIdentity,
): Promise<UserId | undefined> {
  if (email === null) return undefined;
  const [user, ...others] = await findUsersByEmail(db, email);
  if (user === undefined) return undefined;
  if (joinByEmail && isEmailVerified && others.length === 0 && !user.hasIdentity) return user.id;
  throw new Failure(
    'conflict',
    'There is already a user with your e-mail, and this sign-in may not take them over: ask an admin of this server.',
  );
}

async function createUserOf(db: Db, { name, email, role }: JoinedIdentity): Promise<User> {
  for (let i = 1; ; i++) {
    const free = i === 1 ? name : `${name} ${i}`;
    if (!(await findUserByName(db, free))) return createUser(db, { name: free, email, role: role ?? 'USER' });
  }
}

async function getActiveUser(db: Db, id: UserId): Promise<User> {
  const user = await findUserForUpdate(db, id);
  if (user && user.suspension === null) return user;
  throw new Failure('forbidden', 'This account is suspended: ask an admin of this server.');
}
