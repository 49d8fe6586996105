/**
 * Memberships of teams that follow from the groups of an identity provider. What a group gave goes with the group, and nothing else does: a
 * membership that a person made or changed is theirs, and stays.
 */
import type { UserId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';
import { systemActor } from '../access/actor.ts';
import { TEAM_ROLES, type TeamRole } from '../access/team-roles.ts';
import type { User } from '../access/users.ts';
import { recordEvent } from '../audit/record-event.ts';
import { hasOtherOwner } from './team-owners.ts';

/** A team by its name, and the member's role in it. */
export interface GrantedTeam {
  team: string;
  role: TeamRole;
}

interface TeamRow {
  id: UserId;
  name: string;
  /** Null: no member. */
  role: TeamRole | null;
  /** Null: a person made them a member. */
  grantedBy: string | null;
}

/**
 * Makes a user what the groups of `issuer` say, in all teams that these name or named. Names of no team are skipped. The last
 * active owner of a team stays one, which the audit log says. Returns whether anything changed.
 */
export async function applyGroupTeams(
  db: Db,
  user: User,
  issuer: string,
  granted: readonly GrantedTeam[],
): Promise<boolean> {
  let hasChanged = false;
  for (const team of await lockTeams(db, user.id, issuer, granted)) {
    const wanted = highestRole(granted, team.name);
    const isTheirs = team.role !== null && team.grantedBy !== issuer;
    if (isTheirs || wanted === team.role) continue;
    const isKept = team.role === 'OWNER' && !(await hasOtherOwner(db, team.id, user.id));
    if (!isKept) await setRole(db, user.id, team.id, issuer, wanted);
    hasChanged ||= !isKept;
    await recordEvent(db, systemActor(team.id), {
      operation: 'team.update-member',
      recordId: team.id,
      recordName: team.name,
      outcome: isKept ? 'refused' : 'done',
      reason: `groups of ${issuer}${isKept ? `, but '${user.name}' is the only active owner` : ''}`,
      changes: { members: [{ [user.id]: team.role }, { [user.id]: wanted }] },
    });
  }
  return hasChanged;
}

/** Locks the teams before their owners, as everything does that may take an owner away. */
async function lockTeams(db: Db, userId: UserId, issuer: string, granted: readonly GrantedTeam[]): Promise<TeamRow[]> {
  const result = await db.query<TeamRow>(
    `select t.id, t.name, m.role, m.granted_by as "grantedBy"
     from users t left join team_members m on m.team_id = t.id and m.user_id = $1
     where t.kind = 'TEAM' and t.removing_at is null and (t.name = any($3) or m.granted_by = $2)
     order by t.id for no key update of t`,
    [userId, issuer, granted.map(({ team }) => team)],
  );
  return result.rows;
}

function highestRole(granted: readonly GrantedTeam[], name: string): TeamRole | null {
  const roles = granted.filter(({ team }) => team === name).map(({ role }) => TEAM_ROLES.indexOf(role));
  return TEAM_ROLES[Math.max(...roles)] ?? null;
}

async function setRole(db: Db, userId: UserId, teamId: UserId, issuer: string, role: TeamRole | null): Promise<void> {
  if (role === null) {
    await db.query('delete from team_members where team_id = $1 and user_id = $2', [teamId, userId]);
    return;
  }
  await db.query(
    `insert into team_members (team_id, user_id, role, granted_by) values ($1, $2, $3, $4)
     on conflict (team_id, user_id) do update set role = excluded.role`,
    [teamId, userId, role, issuer],
  );
}
