import type { UserId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';
import type { TeamRole } from '../access/roles.ts';

/** A team as its members and admins see it. */
export interface Team {
  id: UserId;
  name: string;
  /** SUSPENDED: members cannot act for it, and its keys are refused. DELETING: the same, and control deletes what it owned. */
  status: 'ACTIVE' | 'SUSPENDED' | 'DELETING';
  /** The reader's role in it. Null: no member. */
  role: TeamRole | null;
  members: number;
  createdAt: Date;
}

export interface Member {
  userId: UserId;
  name: string;
  role: TeamRole;
  /** Their own account is suspended, and with it what they do for the team. */
  isSuspended: boolean;
  joinedAt: Date;
}

/** Who reads teams: a person, or the account of a team, which reads only its own. */
export interface TeamReader {
  id: UserId;
  /** Reads all of them. */
  isOperator: boolean;
}

const TEAMS = `
  select t.id, t.name, m.role, t.created_at as "createdAt",
    case when t.removing_at is not null then 'DELETING' when t.suspended_at is not null then 'SUSPENDED' else 'ACTIVE' end as status,
    (select count(*) from team_members c where c.team_id = t.id)::int4 as members
  from users t left join team_members m on m.team_id = t.id and m.user_id = $1
  where t.kind = 'TEAM' and ($2 or m.role is not null or t.id = $1)`;

/** Returns the teams that the reader may see, by name. */
export async function listTeams(db: Db, { id, isOperator }: TeamReader): Promise<Team[]> {
  return (await db.query<Team>(`${TEAMS} order by t.name, t.id`, [id, isOperator])).rows;
}

/** Finds a team that the reader may see. */
export async function findTeam(db: Db, { id, isOperator }: TeamReader, teamId: UserId): Promise<Team | undefined> {
  return (await db.query<Team>(`${TEAMS} and t.id = $3`, [id, isOperator, teamId])).rows[0];
}

const MEMBERS = `select m.user_id as "userId", u.name, m.role, u.suspended_at is not null as "isSuspended", m.created_at as "joinedAt"
  from team_members m join users u on u.id = m.user_id where m.team_id = $1`;

/** Returns a team's members, in the order in which they joined. */
export async function listMembers(db: Db, teamId: UserId): Promise<Member[]> {
  return (await db.query<Member>(`${MEMBERS} order by m.created_at, m.user_id`, [teamId])).rows;
}

export async function findMember(db: Db, teamId: UserId, userId: UserId): Promise<Member | undefined> {
  return (await db.query<Member>(`${MEMBERS} and m.user_id = $2`, [teamId, userId])).rows[0];
}

/** False if the user is a member already. */
export async function insertMember(db: Db, teamId: UserId, userId: UserId, role: TeamRole): Promise<boolean> {
  const result = await db.query(
    'insert into team_members (team_id, user_id, role) values ($1, $2, $3) on conflict do nothing',
    [teamId, userId, role],
  );
  return result.rowCount === 1;
}

/** Null: removes the member. What a person changes is theirs from now on, and no group of a provider takes it away. */
export async function updateMember(db: Db, teamId: UserId, userId: UserId, role: TeamRole | null): Promise<void> {
  if (role === null) await db.query('delete from team_members where team_id = $1 and user_id = $2', [teamId, userId]);
  else {
    const text = 'update team_members set role = $3, granted_by = null where team_id = $1 and user_id = $2';
    await db.query(text, [teamId, userId, role]);
  }
}
