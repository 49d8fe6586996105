import type { SessionId, UserId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';

/** A user's local account, with what is stored of their password. */
export interface LocalAccount {
  userId: UserId;
  hash: string;
  isSuspended: boolean;
}

const ACCOUNTS = `select p.user_id as "userId", p.hash, u.suspended_at is not null or u.removing_at is not null as "isSuspended"
  from passwords p join users u on u.id = p.user_id`;

/** Finds an account by its email, in any case of the letters, or by its name. Undefined also where two have the email. */
export async function findAccountByLogin(db: Db, login: string): Promise<LocalAccount | undefined> {
  const byEmail = (await db.query<LocalAccount>(`${ACCOUNTS} where lower(u.email) = lower($1) limit 2`, [login])).rows;
  if (byEmail.length > 0) return byEmail.length === 1 ? byEmail[0] : undefined;
  return (await db.query<LocalAccount>(`${ACCOUNTS} where u.name = $1`, [login])).rows[0];
}

export async function findAccount(db: Db, userId: UserId): Promise<LocalAccount | undefined> {
  return (await db.query<LocalAccount>(`${ACCOUNTS} where p.user_id = $1`, [userId])).rows[0];
}

export async function upsertPassword(db: Db, userId: UserId, hash: string): Promise<void> {
  await db.query(
    `insert into passwords (user_id, hash) values ($1, $2)
     on conflict (user_id) do update set hash = excluded.hash, changed_at = now()`,
    [userId, hash],
  );
}

/** False if the user has no password. */
export async function updatePassword(db: Db, userId: UserId, hash: string): Promise<boolean> {
  const text = 'update passwords set hash = $2, changed_at = now() where user_id = $1';
  return (await db.query(text, [userId, hash])).rowCount === 1;
}

/** Takes a user's password away, and their passkeys with it. False if there is none. */
export async function deletePassword(db: Db, userId: UserId): Promise<boolean> {
  return (await db.query('delete from passwords where user_id = $1', [userId])).rowCount === 1;
}

/** Ends the sessions that began with a password or a passkey. Returns their ids, to be published. */
export async function deleteLocalSessions(db: Db, userId: UserId): Promise<SessionId[]> {
  const text = `delete from sessions where user_id = $1 and made_by in ('PASSWORD', 'PASSKEY') returning id`;
  return (await db.query<{ id: SessionId }>(text, [userId])).rows.map(({ id }) => id);
}

/** Ends the sessions of a user but one. Returns their ids, to be published. */
export async function deleteOtherSessions(db: Db, userId: UserId, kept: SessionId): Promise<SessionId[]> {
  const text = 'delete from sessions where user_id = $1 and id <> $2 returning id';
  return (await db.query<{ id: SessionId }>(text, [userId, kept])).rows.map(({ id }) => id);
}

/** How people can sign in here without a provider: what the sign-in page has to show. */
export async function findLocalWays(db: Db): Promise<{ hasPasswords: boolean; hasPasskeys: boolean }> {
  const result = await db.query<{ hasPasswords: boolean; hasPasskeys: boolean }>(
    'select exists (select from passwords) as "hasPasswords", exists (select from passkeys) as "hasPasskeys"',
  );
  return result.rows[0]!;
}

/** True if the session's user proved their identity within the last ten minutes, other than with a key. */
export async function isFreshSignIn(db: Db, id: SessionId): Promise<boolean> {
  const text = `select from sessions where id = $1 and made_by <> 'KEY' and created_at > now() - interval '10 minutes'`;
  return (await db.query(text, [id])).rowCount === 1;
}
