import type { PasskeyId, UserId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';

/** A passkey as its owner sees it. */
export interface Passkey {
  id: PasskeyId;
  name: string;
  createdAt: Date;
  /** Null: never. */
  lastUsedAt: Date | null;
}

/** A passkey that a browser made, and the key that checks its signatures. */
export interface NewPasskey {
  name: string;
  /** In base64url. */
  credentialId: string;
  publicKey: Buffer;
  counter: number;
  transports: readonly string[];
}

/** A stored passkey of a user. */
export interface StoredPasskey extends NewPasskey {
  id: PasskeyId;
  userId: UserId;
  isSuspended: boolean;
}

const COLUMNS = 'id, name, created_at as "createdAt", last_used_at as "lastUsedAt"';

/** Returns a user's passkeys, oldest first, with what their browsers know them by. */
export async function listPasskeys(db: Db, userId: UserId): Promise<(Passkey & { credentialId: string })[]> {
  const text = `select ${COLUMNS}, credential_id as "credentialId" from passkeys where user_id = $1 order by created_at, id`;
  return (await db.query<Passkey & { credentialId: string }>(text, [userId])).rows;
}

export async function findPasskey(db: Db, credentialId: string): Promise<StoredPasskey | undefined> {
  const result = await db.query<StoredPasskey>(
    `select k.id, k.user_id as "userId", k.name, k.credential_id as "credentialId", k.public_key as "publicKey", k.counter::float8 as counter,
       k.transports, u.suspended_at is not null or u.removing_at is not null as "isSuspended"
     from passkeys k join users u on u.id = k.user_id where k.credential_id = $1`,
    [credentialId],
  );
  return result.rows[0];
}

/** False if the credential is known already. */
export async function insertPasskey(db: Db, id: PasskeyId, userId: UserId, key: NewPasskey): Promise<boolean> {
  const result = await db.query(
    `insert into passkeys (id, user_id, name, credential_id, public_key, counter, transports)
     values ($1, $2, $3, $4, $5, $6, $7) on conflict (credential_id) do nothing`,
    [id, userId, key.name, key.credentialId, key.publicKey, key.counter, key.transports],
  );
  return result.rowCount === 1;
}

/**
 * Records a use. False if the authenticator's counter did not move on since another use: it was copied, or the answer is an old one.
 * Authenticators that count nothing stay at 0.
 */
export async function updatePasskeyUsed(db: Db, id: PasskeyId, counter: number): Promise<boolean> {
  const result = await db.query(
    `update passkeys set counter = $2, last_used_at = now() where id = $1 and ($2::bigint > counter or ($2::bigint = 0 and counter = 0))`,
    [id, counter],
  );
  return result.rowCount === 1;
}

/** False if the user has no such passkey. */
export async function updatePasskeyName(db: Db, userId: UserId, id: PasskeyId, name: string): Promise<boolean> {
  const text = 'update passkeys set name = $3 where user_id = $1 and id = $2';
  return (await db.query(text, [userId, id, name])).rowCount === 1;
}

/** False if the user has no such passkey. */
export async function deletePasskey(db: Db, userId: UserId, id: PasskeyId): Promise<boolean> {
  return (await db.query('delete from passkeys where user_id = $1 and id = $2', [userId, id])).rowCount === 1;
}
