import type { UserId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';
import { effectiveLimits, LIMITS, type LimitName, type Limits, type OwnLimits } from './limits.ts';

interface LimitRow {
  userId: UserId | null;
  name: string;
  value: number | null;
}

/** The values set for these users, and for the installation. */
export interface SetLimits {
  installation: OwnLimits;
  users: Map<UserId, OwnLimits>;
}

/** Reads what is set for these users and for the installation. Users without own values are missing from the result. */
export async function readSetLimits(db: Db, userIds: readonly UserId[]): Promise<SetLimits> {
  const { rows } = await db.query<LimitRow>({
    name: 'limits-of',
    text: `select user_id as "userId", name, value from user_limits where user_id = any($1::text[]) or user_id is null`,
    values: [userIds],
  });
  const known = rows.filter(({ name }) => Object.hasOwn(LIMITS, name)); // a newer version may have written others
  const ofUser = Map.groupBy(known, ({ userId }) => userId);
  const installation = toOwn(ofUser.get(null) ?? []);
  ofUser.delete(null);
  return { installation, users: new Map([...ofUser].map(([id, own]) => [id as UserId, toOwn(own)])) };
}

/** Returns what applies to each of these users: all limits and quotas. */
export async function readLimits(db: Db, userIds: readonly UserId[]): Promise<Map<UserId, Limits>> {
  const { installation, users } = await readSetLimits(db, userIds);
  return new Map(userIds.map((id) => [id, effectiveLimits(users.get(id) ?? {}, installation)]));
}

/** Returns what applies to a user. */
export async function readLimitsOf(db: Db, userId: UserId): Promise<Limits> {
  return (await readLimits(db, [userId])).get(userId)!;
}

/** SQL for what is set for the user `userId` and for the installation, as two columns that `limitsOfRow` reads. */
export function setLimitsColumns(userId: string): string {
  const valuesWhere = (condition: string) =>
    `(select coalesce(jsonb_object_agg(name, value), '{}') from user_limits where ${condition})`;
  return `${valuesWhere(`user_id = ${userId}`)} as "ownLimits", ${valuesWhere('user_id is null')} as "defaultLimits"`;
}

/** Returns what applies, from the columns of `setLimitsColumns`. */
export function limitsOfRow(row: { ownLimits: OwnLimits; defaultLimits: OwnLimits }): Limits {
  return effectiveLimits(row.ownLimits, row.defaultLimits);
}

/** New values; null: unlimited, or no quota. `DEFAULT` removes a value, so that it is inherited again. */
export type LimitChanges = Partial<Record<LimitName, number | null | 'DEFAULT'>>;

/** Stores values of a user, or of the installation (null). */
export async function writeLimits(db: Db, userId: UserId | null, changes: LimitChanges): Promise<void> {
  const entries = Object.entries(changes);
  const removed = entries.filter(([, value]) => value === 'DEFAULT').map(([name]) => name);
  const set = entries.filter(([, value]) => value !== 'DEFAULT').map(([name, value]) => ({ name, value }));
  if (removed.length > 0) {
    await db.query('delete from user_limits where user_id is not distinct from $1 and name = any($2::text[])', [
      userId,
      removed,
    ]);
  }
  if (set.length > 0) {
    await db.query(
      `insert into user_limits (user_id, name, value)
       select $1, name, value from jsonb_to_recordset($2::jsonb) as n(name text, value bigint)
       on conflict (user_id, name) do update set value = excluded.value`,
      [userId, JSON.stringify(set)],
    );
  }
}

function toOwn(rows: readonly LimitRow[]): OwnLimits {
  return Object.fromEntries(rows.map(({ name, value }) => [name, value]));
}
