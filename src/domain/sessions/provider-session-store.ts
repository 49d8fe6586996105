import type { SessionId, UserId } from '../../core/ids.ts';
import type { SecretBox } from '../../core/secret-box.ts';
import { type Db, type Pool, transaction } from '../../db/pool.ts';
import type { Context } from '../context.ts';
import { sealSecret } from '../secrets/seal-secret.ts';
import { type EndedSession, recordSessionEnds } from './record-session-ends.ts';

/** A session about which its provider is asked again. */
export interface SessionToRefresh {
  id: SessionId;
  userId: UserId;
  provider: string;
  subject: string;
  tokens: Buffer;
}

/** Returns sessions that are due, and makes them due again in five minutes, in case this process does not come to it. */
export async function claimSessionsToRefresh(db: Db, limit: number): Promise<SessionToRefresh[]> {
  const result = await db.query<SessionToRefresh>(
    `update sessions set refresh_at = now() + interval '5 minutes' where id in (
       select id from sessions where refresh_at <= now() and expires_at > now() and tokens is not null
       order by refresh_at limit $1 for update skip locked)
     returning id, user_id as "userId", provider, subject, tokens`,
    [limit],
  );
  return result.rows;
}

/** Stores what the provider gave instead of the tokens before. Does nothing if the session has ended. */
export async function updateSessionRefreshed(
  pool: Pool,
  secretBox: SecretBox,
  id: SessionId,
  { tokens, refreshInMs }: { tokens: string; refreshInMs: number },
): Promise<void> {
  await transaction(pool, async (db) => {
    const sealed = await sealSecret(db, secretBox, tokens, id);
    await db.query(`update sessions set tokens = $2, refresh_at = now() + $3 * interval '1 ms' where id = $1`, [
      ...[id, sealed, refreshInMs],
    ]);
  });
}

/**
 * Ends all sessions of an account at a provider, or with `sid` those of one session there, because the provider says so. Each has its audit
 * entry. Returns how many there were.
 */
export async function endSessionsOfAccount(
  { pool, bus }: Pick<Context, 'pool' | 'bus'>,
  provider: string,
  { subject, sid, reason }: { subject: string | null; sid: string | null; reason: string },
): Promise<number> {
  const ended = await transaction(pool, async (db) => {
    const { rows } = await db.query<EndedSession>(
      `delete from sessions where provider = $1 and ($2::text is null or subject = $2) and ($3::text is null or provider_sid = $3)
         and num_nonnulls($2::text, $3::text) > 0 returning id, user_id as "userId"`,
      [provider, subject, sid],
    );
    await recordSessionEnds(db, rows, reason);
    return rows;
  });
  for (const { id } of ended) bus.publish('session', id);
  return ended.length;
}

/** Returns where a session comes from; undefined if no provider vouches for it. */
export async function findSessionOrigin(
  db: Db,
  id: SessionId,
): Promise<{ provider: string; tokens: Buffer | null } | undefined> {
  const result = await db.query<{ provider: string; tokens: Buffer | null }>(
    'select provider, tokens from sessions where id = $1 and provider is not null',
    [id],
  );
  return result.rows[0];
}
