import { Failure, notFound } from '../../core/errors.ts';
import type { UserId } from '../../core/ids.ts';
import { ADVISORY_LOCKS } from '../../db/advisory-locks.ts';
import type { Db } from '../../db/pool.ts';
import { type Admin, systemActor } from '../access/actor.ts';
import { PERMISSIONS } from '../access/permissions.ts';
import { refuseUserBesideProcesses } from '../access/refuse-shared-processes.ts';
import type { Role } from '../access/roles.ts';
import { createUser, findUserByName, findUserForUpdate, type User, updateUserFields } from '../access/users.ts';
import { recordEvent } from '../audit/record-event.ts';
import type { Operation, Tx } from '../change.ts';
import { applyGroupTeams, type GrantedTeam } from '../teams/group-teams.ts';
import { lockAdmins } from '../users/admins.ts';
import { findUserOfIdentity, findUsersByEmail, type Identity, upsertIdentity } from './identity-store.ts';
import { deleteSessionsOfUser } from './session-store.ts';

export interface JoinedIdentity extends Identity {
  /** Their name there. */
  name: string;
  isEmailVerified: boolean;
  /** The role that their groups give; null: roles are given here. */
  role: Role | null;
  /** The teams that their groups make them members of. */
  teams: readonly GrantedTeam[];
  /** A verified email joins them to the user who has it. */
  joinByEmail: boolean;
}

/**
 * Finds, joins or creates the user of an identity that a provider has just verified, and gives them the role and the teams of their groups;
 * a new role ends their sessions. The last active admin stays one, which the audit log says. Throws `forbidden` for a suspended user, and
 * `conflict` for an email that another user has.
 */
export const joinIdentity: Operation<Tx<Admin> & { facts: { takesSeveralUsers: boolean } }, JoinedIdentity, UserId> = {
  name: 'identity.join',
  permission: PERMISSIONS.writeUsers,
  async run({ db, bus, facts }, input) {
    const admins = await lockAdmins(db, null);
    const known = (await findUserOfIdentity(db, input)) ?? (await findAtFirst(db, input));
    if (known === undefined && !facts.takesSeveralUsers) await refuseUserBesideProcesses(db);
    const user = known === undefined ? await createUserOf(db, input) : await getActiveUser(db, known);
    await upsertIdentity(db, user.id, input);
    await applyRole(db, bus, user, input, admins.has(user.id) && admins.size === 1);
    if (input.teams !== null && (await applyGroupTeams(db, user, input.issuer, input.teams)))
      bus.publish('user', user.id);
    return user.id;
  },
  subject: (_, userId) => userId,
};

/** A known identity that has left all groups that may sign in. */
interface LeftIdentity {
  id: UserId;
  issuer: string;
  /** The user's role from now on; null: roles are not given by groups. */
  role: Role | null;
}

/**
 * Takes from a user what the groups of a provider gave: the role and the teams, and nothing that a person gave. Resolves with false if
 * nothing changed.
 */
export const leaveGroups: Operation<Tx<Admin>, LeftIdentity, boolean> = {
  name: 'identity.leave-groups',
  permission: PERMISSIONS.writeUsers,
  async run({ db, bus }, { id, issuer, role }) {
    const admins = await lockAdmins(db, null);
    const user = await findUserForUpdate(db, id);
    if (!user) throw notFound('User');
    const hasNewRole = await applyRole(db, bus, user, { role, issuer }, admins.has(id) && admins.size === 1);
    const hasNewTeams = await applyGroupTeams(db, user, issuer, []);
    if (hasNewTeams) bus.publish('user', id);
    return hasNewRole || hasNewTeams;
  },
  subject: ({ id }) => id,
  isAudited: (_, hasChanged) => hasChanged,
  locksOthersFirst: true,
};

/** Written into the audit log each time that they sign in with groups which would take the role away. */
async function applyRole(
  db: Db,
  bus: Tx['bus'],
  user: User,
  { role, issuer }: Pick<JoinedIdentity, 'role' | 'issuer'>,
  isLastAdmin: boolean,
): Promise<boolean> {
  if (role === null || role === user.role) return false;
  const event = { recordId: user.id, recordName: user.name, ownerId: user.id };
  if (isLastAdmin) {
    const reason = `the groups of ${issuer} make them ${role}, but they are the only active admin`;
    await recordEvent(db, systemActor(user.id), { ...event, operation: 'user.update', outcome: 'refused', reason });
    return false;
  }
  await updateUserFields(db, user.id, { role });
  await deleteSessionsOfUser(db, user.id);
  bus.publish('user', user.id);
  await recordEvent(db, systemActor(user.id), {
    ...{ ...event, operation: 'user.update', reason: `groups of ${issuer}` },
    changes: { role: [user.role, role] },
  });
  return true;
}

/**
 * One at a time: otherwise two identities with one email would both join its user, and concurrent sign-ins of one identity would create two
 * users.
 */
async function findAtFirst(db: Db, identity: JoinedIdentity): Promise<UserId | undefined> {
  await db.query('select pg_advisory_xact_lock($1)', [ADVISORY_LOCKS.firstSignIn]);
  return (await findUserOfIdentity(db, identity)) ?? (await findByEmail(db, identity));
}

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
    'There is already a user with your email, and this sign-in may not take them over: ask an admin of this server.',
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
