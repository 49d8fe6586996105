/** Operations on teams. Admins make and name them, since each has limits of its own; owners manage their members. */
import { Failure, notFound } from '../../core/errors.ts';
import type { UserId } from '../../core/ids.ts';
import { isUniqueViolation } from '../../db/pool.ts';
import type { Admin } from '../access/actor.ts';
import { FIRST_USER } from '../access/ensure-first-user.ts';
import { PERMISSIONS } from '../access/permissions.ts';
import type { TeamRole } from '../access/roles.ts';
import { createUser, findUser, findUserByName } from '../access/users.ts';
import type { Operation, Tx } from '../change.ts';
import { lockAdmins } from '../users/admins.ts';
import { getUser } from '../users/change-user.ts';
import { type Remaining, readRemaining } from '../users/removal-progress.ts';
import { beginRemoval, lockBoth } from '../users/request-removal.ts';
import { lockManagedTeam } from './team-access.ts';
import { keepOwner } from './team-owners.ts';
import { findMember, findTeam, insertMember, type Member, type Team, updateMember } from './team-store.ts';

/**
 * Creates a team with its first owner: the caller, or another person. Throws `conflict` for a name that a user or a team has, and
 * `notFound` for an owner who does not exist.
 */
export const createTeam: Operation<Tx<Admin>, { name: string; ownerId: UserId | null }, Team> = {
  name: 'team.create',
  permission: PERMISSIONS.writeUsers,
  async run({ db, actor: admin, bus }, { name, ownerId }) {
    await lockAdmins(db, admin);
    // A server that is given PODYARD_ADMIN_KEY makes the user of that name an admin.
    if (name === FIRST_USER) throw new Failure('conflict', `there is already a user named '${name}'`);
    const owner = ownerId ?? admin?.userId;
    if (owner === undefined) throw new Failure('badRequest', 'ownerId: name the first owner of the team');
    const { id } = await createUser(db, { name, email: null, kind: 'TEAM' });
    await addPerson(db, id, owner, 'OWNER');
    bus.publish('user', owner);
    return (await findTeam(db, { id: owner, isOperator: true }, id))!;
  },
  subject: (_, { id }) => id,
};

/** Renames a team; ids and URLs stay. Throws `notFound`, and `conflict` for a name that a user or a team has. */
export const renameTeam: Operation<Tx<Admin>, { id: UserId; name: string }, Team> = {
  name: 'team.rename',
  permission: PERMISSIONS.writeUsers,
  async run({ db, actor: admin, bus }, { id, name }) {
    await lockAdmins(db, admin);
    const { team } = await lockManagedTeam(db, admin, id);
    const holder = await findUserByName(db, name);
    if (name === FIRST_USER || (holder && holder.id !== id)) throw nameTaken(name);
    await db.query('update users set name = $2 where id = $1', [id, name]).catch((cause) => {
      throw isUniqueViolation(cause) ? nameTaken(name) : cause;
    });
    bus.publish('user', id);
    return { ...team, name };
  },
  subject: ({ id }) => id,
};

function nameTaken(name: string): Failure {
  return new Failure('conflict', `there is already a user named '${name}'`);
}

/**
 * Begins the deletion of a team: from now on no member can act for it. It must own nothing, unless a new owner takes it all: for an owner
 * of the team, they themselves or another team that they own. Throws `notFound`, `conflict` for what it owns and for limits of the new
 * owner.
 */
export const removeTeam: Operation<Tx<Admin>, { id: UserId; newOwnerId: UserId | null }, Team> = {
  name: 'team.remove',
  permission: PERMISSIONS.writeTeam,
  async run(tx, { id, newOwnerId }) {
    const { db, actor } = tx;
    await lockBoth(db, id, newOwnerId);
    const { team, isAdmin } = await lockManagedTeam(db, actor, id);
    if (newOwnerId === null) refuseOwned(team.name, await readRemaining(db, id));
    else if (!isAdmin && actor !== null) await checkOwnsNewOwner(db, actor.personId ?? actor.userId, newOwnerId);
    await beginRemoval(tx, await getUser(db, id), newOwnerId, actor?.personId ?? actor?.userId ?? null);
    return { ...team, status: 'DELETING' };
  },
  subject: ({ id }) => id,
};

function refuseOwned(name: string, owned: Remaining): void {
  const counts = Object.entries(owned).filter(([, count]) => count > 0);
  if (counts.length === 0) return;
  const list = counts.map(([kind, count]) => `${kind} (${count})`).join(', ');
  throw new Failure('conflict', `the team '${name}' still owns ${list}: delete them first, or hand them over`);
}

/** Another account is as unknown as none. */
async function checkOwnsNewOwner(db: Tx['db'], personId: UserId, newOwnerId: UserId): Promise<void> {
  if (newOwnerId === personId) return;
  if ((await findMember(db, newOwnerId, personId))?.role !== 'OWNER') throw notFound('User to hand over to');
}

/** Adds a person. Throws `notFound` for a team or person who does not exist, `conflict` for a member. */
export const addMember: Operation<Tx<Admin>, { id: UserId; userId: UserId; role: TeamRole }, Member> = {
  name: 'team.add-member',
  permission: PERMISSIONS.writeTeam,
  async run({ db, actor, bus }, { id, userId, role }) {
    await lockManagedTeam(db, actor, id);
    await addPerson(db, id, userId, role);
    bus.publish('user', userId);
    return (await findMember(db, id, userId))!;
  },
  subject: ({ id }) => id,
};

async function addPerson(db: Tx['db'], teamId: UserId, userId: UserId, role: TeamRole): Promise<void> {
  const person = await findUser(db, userId);
  if (person?.kind !== 'PERSON') throw notFound('User');
  if (person.suspension !== null) throw new Failure('conflict', `'${person.name}' is suspended and cannot join a team`);
  if (!(await insertMember(db, teamId, userId, role)))
    throw new Failure('conflict', `'${person.name}' is a member already: change the role instead`);
}

/**
 * Changes a member's role, or removes them (null); members may remove themselves. What they opened for the team ends within seconds.
 * Throws `notFound`, and `conflict` for the last active owner.
 */
export const updateTeamMember: Operation<
  Tx<Admin>,
  { id: UserId; userId: UserId; role: TeamRole | null },
  Member | undefined
> = {
  name: 'team.update-member',
  permission: PERMISSIONS.writeTeam,
  async run({ db, actor, bus }, { id, userId, role }) {
    const isLeaving = role === null && userId === (actor?.personId ?? actor?.userId);
    const { team } = await lockManagedTeam(db, actor, id, isLeaving);
    const before = await findMember(db, id, userId);
    if (!before) throw notFound('Member');
    if (before.role === 'OWNER' && role !== 'OWNER') await keepOwner(db, team, before);
    await updateMember(db, id, userId, role);
    bus.publish('user', userId);
    return findMember(db, id, userId);
  },
  subject: ({ id }) => id,
};
