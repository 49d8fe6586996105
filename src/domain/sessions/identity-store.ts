import { newId, type UserId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';

/** A person at an identity provider. */
export interface Identity {
  issuer: string;
  subject: string;
  email: string | null;
  groups: readonly string[];
}

/** Finds the user of an identity, and locks the identity until the commit. */
export async function findUserOfIdentity(
  db: Db,
  { issuer, subject }: Pick<Identity, 'issuer' | 'subject'>,
): Promise<UserId | undefined> {
  const result = await db.query<{ userId: UserId }>(
    'select user_id as "userId" from identities where issuer = $1 and subject = $2 for update',
    [issuer, subject],
  );
  return result.rows[0]?.userId;
}

/** Returns the users with an email, in any case of its letters, and whether they sign in with a provider already. */
export async function findUsersByEmail(db: Db, email: string): Promise<{ id: UserId; hasIdentity: boolean }[]> {
  const result = await db.query<{ id: UserId; hasIdentity: boolean }>(
    `select id, exists (select from identities i where i.user_id = u.id) as "hasIdentity"
     from users u where lower(u.email) = lower($1) order by id`,
    [email],
  );
  return result.rows;
}

/** Stores a user's identity at a provider, as of now. */
export async function upsertIdentity(db: Db, userId: UserId, identity: Identity): Promise<void> {
  await db.query(
    `insert into identities (id, issuer, subject, user_id, email, groups) values ($1, $2, $3, $4, $5, $6)
     on conflict (issuer, subject) do update set email = excluded.email, groups = excluded.groups, last_used_at = now()`,
    [newId(), identity.issuer, identity.subject, userId, identity.email, identity.groups],
  );
}

/** Returns the groups that the user's providers named last, for what follows from them. */
export async function groupsOf(db: Db, userId: UserId): Promise<string[]> {
  const result = await db.query<{ group: string }>(
    'select distinct unnest(groups) as "group" from identities where user_id = $1 order by 1',
    [userId],
  );
  return result.rows.map(({ group }) => group);
}

/**
 * Records that an answer of a provider was used; false if it was before. Forgets those older than an hour, which are refused for their
 * age.
 */
export async function useAnswerOnce(db: Db, hash: Buffer): Promise<boolean> {
  await db.query(`delete from used_answers where used_at < now() - interval '1 hour'`);
  const result = await db.query('insert into used_answers (hash) values ($1) on conflict do nothing', [hash]);
  return result.rowCount === 1;
}
