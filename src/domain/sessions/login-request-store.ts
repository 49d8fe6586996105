import type { SessionId, UserId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';

/** A command line's request for a key, as shown to the person who approves it. */
export interface LoginRequest {
  id: string;
  /** The machine's name for itself. */
  host: string;
  /** From where it asks. */
  address: string;
  expiresAt: Date;
}

/** The person who approved a request, and the lifetime of the key in days. */
export interface Approval {
  host: string;
  sessionId: SessionId;
  days: number;
}

interface NewRequest {
  id: string;
  codeHash: Buffer;
  host: string;
  address: string;
  lifetimeMs: number;
}

/** The most pending requests, of one network and of all. */
const MAX_OF_NETWORK = 20;
const MAX_PENDING = 5_000;

/** Removes what has expired. */
export async function deleteExpiredRequests(db: Db): Promise<void> {
  await db.query('delete from login_requests where expires_at <= now()');
}

/** Stores a request that a person will find by its user code. False if too many wait, of the network or of all. */
export async function insertPendingRequest(
  db: Db,
  { id, codeHash, host, address, lifetimeMs, ...more }: NewRequest & { userCodeHash: Buffer; network: string },
): Promise<boolean> {
  const result = await db.query(
    `insert into login_requests (id, code_hash, user_code_hash, host, network, address, expires_at)
     select $1, $2, $3, $4, $5, $6, now() + $7 * interval '1 ms'
     where (select count(*) from login_requests where state = 'PENDING' and network = $5) < ${MAX_OF_NETWORK}
       and (select count(*) from login_requests where state = 'PENDING') < ${MAX_PENDING}`,
    [id, codeHash, more.userCodeHash, host, more.network, address, lifetimeMs],
  );
  return result.rowCount === 1;
}

/** Stores what a person has approved already: the code goes through their browser, and is worth nothing without the verifier. */
export async function insertApprovedRequest(
  db: Db,
  { id, codeHash, host, address, lifetimeMs, ...more }: NewRequest & Approval & { challenge: string },
): Promise<void> {
  await db.query(
    `insert into login_requests (id, code_hash, challenge, host, network, address, state, session_id, key_days, expires_at)
     values ($1, $2, $3, $4, $5, $5, 'APPROVED', $6, $7, now() + $8 * interval '1 ms')`,
    [id, codeHash, more.challenge, host, address, more.sessionId, more.days, lifetimeMs],
  );
}

/** Finds a pending request. */
export async function findPendingRequest(db: Db, userCodeHash: Buffer): Promise<LoginRequest | undefined> {
  const result = await db.query<LoginRequest>(
    `select id, host, address, expires_at as "expiresAt" from login_requests
     where user_code_hash = $1 and state = 'PENDING' and expires_at > now()`,
    [userCodeHash],
  );
  return result.rows[0];
}

/** Decides a request; null: denies it. False if it was decided meanwhile, or has expired. */
export async function decideRequest(
  db: Db,
  id: string,
  approval: Pick<Approval, 'sessionId' | 'days'> | null,
): Promise<boolean> {
  const result = await db.query(
    `update login_requests set state = $2, session_id = $3, key_days = $4
     where id = $1 and state = 'PENDING' and expires_at > now()`,
    [id, approval === null ? 'DENIED' : 'APPROVED', approval?.sessionId ?? null, approval?.days ?? null],
  );
  return result.rowCount === 1;
}

/** The result of a command line's poll. */
export interface PolledRequest {
  id: string;
  state: 'PENDING' | 'APPROVED' | 'DENIED';
  /** It asked before its time, and has to wait longer from now on. */
  isEarly: boolean;
  /** How long it has to wait before the next poll. */
  pollSeconds: number;
}

/** Added to the interval of a command line that asks too often (RFC 8628, 3.5). */
const SLOW_DOWN_SECONDS = 5;

/** Records a poll; undefined if the request is gone. */
export async function pollRequest(db: Db, codeHash: Buffer): Promise<PolledRequest | undefined> {
  const result = await db.query<PolledRequest>(
    `with before as (
       select id, polled_at > now() - poll_seconds * interval '0.9 seconds' as is_early from login_requests
       where code_hash = $1 and user_code_hash is not null and expires_at > now() for update)
     update login_requests r set polled_at = now(),
       poll_seconds = r.poll_seconds + case when before.is_early then ${SLOW_DOWN_SECONDS} else 0 end
     from before where r.id = before.id
     returning r.id, r.state, before.is_early as "isEarly", r.poll_seconds as "pollSeconds"`,
    [codeHash],
  );
  return result.rows[0];
}

/** Removes a decided request and returns its approval; undefined if another poll was first, or it was denied. */
export async function takeRequest(db: Db, id: string): Promise<Approval | undefined> {
  const result = await db.query<Approval>(
    `delete from login_requests where id = $1 and state <> 'PENDING'
     returning host, session_id as "sessionId", key_days as days`,
    [id],
  );
  const [taken] = result.rows;
  return taken?.sessionId ? taken : undefined;
}

/** Removes the request that a browser's code names, whatever the challenge: a code is tried once. */
export async function takeByCode(
  db: Db,
  codeHash: Buffer,
): Promise<(Approval & { challenge: string; isLive: boolean }) | undefined> {
  const result = await db.query<Approval & { challenge: string; isLive: boolean }>(
    `delete from login_requests where code_hash = $1 and challenge is not null
     returning host, session_id as "sessionId", key_days as days, challenge, expires_at > now() as "isLive"`,
    [codeHash],
  );
  return result.rows[0];
}

/** Returns whose session it is; undefined if the session has ended, or its user is suspended. */
export async function findUserOfSession(
  db: Db,
  id: SessionId,
): Promise<{ userId: UserId; userName: string } | undefined> {
  const result = await db.query<{ userId: UserId; userName: string }>(
    `select u.id as "userId", u.name as "userName" from sessions s join users u on u.id = s.user_id
     where s.id = $1 and u.suspended_at is null and u.removing_at is null`,
    [id],
  );
  return result.rows[0];
}
