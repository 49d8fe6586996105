import { Failure } from '../../core/errors.ts';
import { newId, type UserId } from '../../core/ids.ts';
import { type Db, isUniqueViolation } from '../../db/pool.ts';
import type { Role } from './roles.ts';

/** Fates of a suspended user's workloads: they go on, or endpoints are scaled to zero and pods stopped. */
export const SUSPENDED_WORKLOADS = ['KEEP', 'STOP'] as const;
export type SuspendedWorkloads = (typeof SUSPENDED_WORKLOADS)[number];

/** Why a user's keys are refused. */
export interface Suspension {
  since: Date;
  /** The admin who suspended the user; null: the operator's tools. */
  byId: UserId | null;
  reason: string | null;
  workloads: SuspendedWorkloads;
}

/** A TEAM is an account without a person: its members act for it, with roles. */
export type AccountKind = 'PERSON' | 'TEAM';

/** An account that owns records: of a person, or of a team. */
export interface User {
  id: UserId;
  kind: AccountKind;
  name: string;
  email: string | null;
  role: Role;
  /** Null: active. */
  suspension: Suspension | null;
  /** Since when the user is being deleted. Null: is not. */
  removingAt: Date | null;
  createdAt: Date;
}

interface UserRow extends Omit<User, 'suspension'> {
  since: Date | null;
  byId: UserId | null;
  reason: string | null;
  workloads: SuspendedWorkloads | null;
}

const COLUMNS = `id, kind, name, email, role, removing_at as "removingAt", created_at as "createdAt",
  suspended_at as since, suspended_by as "byId", suspension_reason as reason, suspended_workloads as workloads`;

function toUser({ since, byId, reason, workloads, ...user }: UserRow): User {
  return { ...user, suspension: since === null ? null : { since, byId, reason, workloads: workloads! } };
}

/** Throws `conflict` if a person or a team has the name. */
export async function createUser(
  db: Db,
  input: { name: string; email: string | null; role?: Role; kind?: AccountKind },
): Promise<User> {
  if (input.name.trim() === '') throw new Failure('badRequest', 'name: must not be blank');
  const result = await db
    .query<UserRow>(
      `insert into users (id, name, email, role, kind) values ($1, $2, $3, $4, $5) returning ${COLUMNS}`,
      [newId<UserId>(), input.name, input.email, input.role ?? 'USER', input.kind ?? 'PERSON'],
    )
    .catch((cause) => {
      if (!isUniqueViolation(cause)) throw cause;
      throw new Failure('conflict', `there is already a user named '${input.name}'`, { cause });
    });
  return toUser(result.rows[0]!);
}

/** Counts people, not teams. */
export async function countUsers(db: Db): Promise<number> {
  const counted = "select count(*)::int8 as users from users where kind = 'PERSON'";
  return (await db.query<{ users: number }>(counted)).rows[0]!.users;
}

/** Returns all people, oldest first. */
export async function listUsers(db: Db): Promise<User[]> {
  return (
    await db.query<UserRow>(`select ${COLUMNS} from users where kind = 'PERSON' order by created_at, id`)
  ).rows.map(toUser);
}

/** Returns those of these users that exist, in their order. */
export async function findUsers(db: Db, ids: readonly UserId[]): Promise<User[]> {
  const text = `select ${COLUMNS} from users where id = any($1::text[]) order by array_position($1, id)`;
  return (await db.query<UserRow>(text, [ids])).rows.map(toUser);
}

export async function findUser(db: Db, id: UserId): Promise<User | undefined> {
  return one(await db.query<UserRow>(`select ${COLUMNS} from users where id = $1`, [id]));
}

/** Finds a user and locks the row until the commit: creations of what it owns, and other changes of it, wait. */
export async function findUserForUpdate(db: Db, id: UserId): Promise<User | undefined> {
  return one(await db.query<UserRow>(`select ${COLUMNS} from users where id = $1 for no key update`, [id]));
}

export async function findUserByName(db: Db, name: string): Promise<User | undefined> {
  return one(await db.query<UserRow>(`select ${COLUMNS} from users where name = $1`, [name]));
}

export async function updateUserFields(
  db: Db,
  id: UserId,
  { email, role }: { email?: string | null; role?: Role },
): Promise<void> {
  if (email !== undefined) await db.query('update users set email = $2 where id = $1', [id, email]);
  if (role !== undefined) await db.query('update users set role = $2 where id = $1', [id, role]);
}

/** Suspends a user, or ends the suspension (null). */
export async function updateSuspension(
  db: Db,
  id: UserId,
  suspension: Omit<Suspension, 'since'> | null,
): Promise<void> {
  await db.query(
    `update users set suspended_at = case when $2::text is null then null else coalesce(suspended_at, now()) end,
       suspended_workloads = $2, suspended_by = $3, suspension_reason = $4 where id = $1`,
    [id, suspension?.workloads ?? null, suspension?.byId ?? null, suspension?.reason ?? null],
  );
}

function one({ rows }: { rows: UserRow[] }): User | undefined {
  return rows[0] && toUser(rows[0]);
}
