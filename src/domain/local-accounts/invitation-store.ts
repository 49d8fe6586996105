import type { UserId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';

/** A link with which an invited user sets their password, once. */
export interface Invitation {
  userId: UserId;
  createdAt: Date;
  expiresAt: Date;
}

const COLUMNS = 'user_id as "userId", created_at as "createdAt", expires_at as "expiresAt"';

/** Stores a user's invitation, instead of the one before. */
export async function replaceInvitation(
  db: Db,
  { userId, secretHash, lifetimeMs }: { userId: UserId; secretHash: Buffer; lifetimeMs: number },
): Promise<Invitation> {
  const result = await db.query<Invitation>(
    `insert into invitations (user_id, secret_hash, expires_at) values ($1, $2, now() + $3 * interval '1 ms')
     on conflict (user_id) do update
       set secret_hash = excluded.secret_hash, created_at = now(), expires_at = excluded.expires_at
     returning ${COLUMNS}`,
    [userId, secretHash, lifetimeMs],
  );
  return result.rows[0]!;
}

/** Undefined without one, and for one that has expired. */
export async function findInvitation(db: Db, userId: UserId): Promise<Invitation | undefined> {
  const text = `select ${COLUMNS} from invitations where user_id = $1 and expires_at > now()`;
  return (await db.query<Invitation>(text, [userId])).rows[0];
}

/** The same by the hash of the link's secret. */
export async function findInvitationBySecret(db: Db, secretHash: Buffer): Promise<Invitation | undefined> {
  const text = `select ${COLUMNS} from invitations where secret_hash = $1 and expires_at > now()`;
  return (await db.query<Invitation>(text, [secretHash])).rows[0];
}

/** Takes an invitation, so that it is used once. False if it was used, replaced or revoked, or has expired. */
export async function takeInvitation(db: Db, userId: UserId, secretHash: Buffer): Promise<boolean> {
  const text = 'delete from invitations where user_id = $1 and secret_hash = $2 and expires_at > now()';
  return (await db.query(text, [userId, secretHash])).rowCount === 1;
}

/** False if there was none. */
export async function deleteInvitation(db: Db, userId: UserId): Promise<boolean> {
  return (await db.query('delete from invitations where user_id = $1', [userId])).rowCount === 1;
}
