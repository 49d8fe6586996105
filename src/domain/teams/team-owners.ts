/**
 * Every team has an owner who can sign in: without one, only an admin could change it. Every removal of an owner first locks the team's row
 * and then the rows of the other owners, so that two owners cannot both leave at once.
 */
import { Failure } from '../../core/errors.ts';
import type { UserId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';
import type { User } from '../access/users.ts';

/** Throws `conflict` if the team, whose row is locked, has no other active owner than this member. */
export async function keepOwner(db: Db, team: { id: UserId; name: string }, member: { userId: UserId; name: string }) {
  if (await hasOtherOwner(db, team.id, member.userId)) return;
  throw lastOwner(member.name, team.name);
}

/** Throws `conflict` if the user is the only active owner of a team, and locks all that they own. */
export async function keepOwnersOfTeams(db: Db, user: User): Promise<void> {
  const teams = await db.query<{ id: UserId; name: string }>(
    `select t.id, t.name from users t join team_members m on m.team_id = t.id
     where m.user_id = $1 and m.role = 'OWNER' and t.removing_at is null order by t.id for no key update of t`,
    [user.id],
  );
  for (const { id, name } of teams.rows) {
    if (!(await hasOtherOwner(db, id, user.id))) throw lastOwner(user.name, name);
  }
}

/** True if a team, whose row is locked, has an active owner besides the user; locks such owners. */
export async function hasOtherOwner(db: Db, teamId: UserId, userId: UserId): Promise<boolean> {
  const others = await db.query(
    `select from users u join team_members m on m.user_id = u.id
     where m.team_id = $1 and m.role = 'OWNER' and u.id <> $2 and u.suspended_at is null order by u.id for share of u`,
    [teamId, userId],
  );
  return others.rowCount !== 0;
}

function lastOwner(user: string, team: string): Failure {
  return new Failure(
    'conflict',
    `'${user}' is the only active owner of the team '${team}': make another member its owner first`,
  );
}
