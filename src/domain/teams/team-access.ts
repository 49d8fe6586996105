import { Failure, notFound } from '../../core/errors.ts';
import type { UserId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';
import { type Actor, type Admin, isPermitted } from '../access/actor.ts';
import { isOperator } from '../access/check-operator.ts';
import { PERMISSIONS } from '../access/permissions.ts';
import { findUserForUpdate } from '../access/users.ts';
import { findTeam, type Team, type TeamReader } from './team-store.ts';

/** Returns the reader: the person, also while they act for a team. Persons who may read all users read all teams. */
export async function readerOf(db: Db, actor: Actor): Promise<TeamReader> {
  const id = actor.personId ?? actor.userId;
  const mayReadUsers = isPermitted(actor, PERMISSIONS.readUserLimits());
  return { id, isOperator: mayReadUsers && (await isOperator(db, id, 'readUsers')) };
}

/** Throws `notFound`, the same for a team of others and for none. */
export async function getVisibleTeam(db: Db, actor: Actor, id: UserId): Promise<Team> {
  const team = await findTeam(db, await readerOf(db, actor), id);
  if (!team) throw notFound('Team');
  return team;
}

/**
 * Locks a team for its manager: an owner, or an admin whose key may change users; null: the operator's tools. Throws `notFound` for
 * non-members, `forbidden` for other members and while it is suspended, and `conflict` while it is being deleted.
 */
export async function lockManagedTeam(
  db: Db,
  actor: Admin,
  id: UserId,
  isForSelf = false,
): Promise<{ team: Team; isAdmin: boolean }> {
  await findUserForUpdate(db, id);
  const isAdmin = actor === null || (await isAdminOf(db, actor));
  const reader = { id: actor === null ? id : (actor.personId ?? actor.userId), isOperator: isAdmin };
  const team = await findTeam(db, reader, id);
  if (!team) throw notFound('Team');
  if (!isAdmin && team.role !== 'OWNER' && !(isForSelf && team.role !== null)) {
    throw new Failure('forbidden', 'access denied: only owners of the team and admins may do that');
  }
  if (team.status === 'DELETING') throw new Failure('conflict', `'${team.name}' is being deleted`);
  if (team.status === 'SUSPENDED' && !isAdmin) {
    throw new Failure('forbidden', `the team '${team.name}' is suspended: ask an admin of this server`);
  }
  return { team, isAdmin };
}

async function isAdminOf(db: Db, actor: Actor): Promise<boolean> {
  return isPermitted(actor, PERMISSIONS.writeUsers()) && isOperator(db, actor.personId ?? actor.userId, 'writeUsers');
}
