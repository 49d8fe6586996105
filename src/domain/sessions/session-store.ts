import type { KeyId, SessionId, UserId } from '../../core/ids.ts';
import { isRestRevision, type RestRevision } from '../../core/rest-revisions.ts';
import type { Db } from '../../db/pool.ts';
import { parseScope, type Scope } from '../access/scopes.ts';
import type { FoundSecret } from '../access/secret-ring.ts';
import type { EndedSession } from './record-session-ends.ts';

/** Ways to sign in. */
export const SIGN_IN_WAYS = ['KEY', 'OIDC', 'PASSWORD', 'PASSKEY', 'PROXY'] as const;
type SignInWay = (typeof SIGN_IN_WAYS)[number];

/** A browser that is signed in, as its user sees it. */
export interface Session {
  id: SessionId;
  userId: UserId;
  madeBy: SignInWay;
  /** The key's name, or the provider's. */
  madeWith: string | null;
  userAgent: string | null;
  address: string | null;
  createdAt: Date;
  /** To about a minute. */
  lastUsedAt: Date;
  /** When it ends if it is not used again. */
  endsAt: Date;
}

export interface NewSession {
  id: SessionId;
  userId: UserId;
  secretHash: Buffer;
  madeBy: SignInWay;
  /** The key of a session that was made with one. */
  keyId?: KeyId | null;
  /** The account of a session that an identity provider vouches for. */
  account?: ProviderAccount | null;
  userAgent: string | null;
  address: string | null;
  lifetime: SessionLifetime;
}

/** Where a session comes from, and what asks the provider again. */
export interface ProviderAccount<Tokens = Buffer> {
  /** Its name in the settings. */
  provider: string;
  subject: string;
  /** The provider's own session. */
  sid: string | null;
  /** Sealed, where they are stored. */
  tokens: Tokens | null;
  /** In how many ms the provider is asked again; null: never. */
  refreshInMs: number | null;
}

/** In ms. */
export interface SessionLifetime {
  idleMs: number;
  maxMs: number;
}

/** The scopes of a session that no key restricts. */
const EVERYTHING: readonly Scope[] = ['all', 'exec', 'files:write'].map(parseScope);

/** When it ends without another use, in SQL over `sessions s left join api_keys k`. */
const ENDS_AT = 'least(s.expires_at, s.last_used_at + s.idle, k.expires_at)';
const SESSIONS = 'sessions s left join api_keys k on k.id = s.key_id';
/** True if neither the session nor its key has ended. */
const IS_LIVE = `${ENDS_AT} > now() and k.revoked_at is null and k.disabled_at is null`;

/** SQL: true if the session `id` (an expression) has not ended. */
export const isLiveSession = (id: string) => `exists (select from ${SESSIONS} where s.id = ${id} and ${IS_LIVE})`;

export async function insertSession(db: Db, session: NewSession): Promise<void> {
  const { account = null, lifetime } = session;
  await db.query(
    `insert into sessions (id, user_id, secret_hash, made_by, key_id, provider, subject, provider_sid, tokens, refresh_at,
       user_agent, address, idle, expires_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, now() + $10 * interval '1 ms', $11, $12, $13 * interval '1 ms',
       now() + $14 * interval '1 ms')`,
    [
      ...[session.id, session.userId, session.secretHash, session.madeBy, session.keyId ?? null],
      ...[account?.provider ?? null, account?.subject ?? null, account?.sid ?? null],
      ...[account?.tokens ?? null, account?.refreshInMs ?? null],
      ...[session.userAgent, session.address, lifetime.idleMs, lifetime.maxMs],
    ],
  );
}

/** Locks a key against its revocation until the commit. False unless it is a person's, and valid. */
export async function lockKeyOfPerson(db: Db, userId: UserId, keyId: KeyId): Promise<boolean> {
  const result = await db.query(
    `select from api_keys where id = $1 and user_id = $2 and workload is null and revoked_at is null for share`,
    [keyId, userId],
  );
  return result.rowCount === 1;
}

interface FoundRow {
  id: SessionId;
  userId: UserId;
  keyId: KeyId | null;
  scopes: string[] | null;
  restRevision: string | null;
  voucher: string | null;
  lastUsedAt: Date;
  endsAt: Date;
  isSuspended: boolean;
  isRemoving: boolean;
  allowedNetworks: string[];
}

/** Columns of a session that has not ended, also of a suspended user's. */
const FOUND = `select s.id, s.user_id as "userId", s.key_id as "keyId", k.scopes, k.rest_revision as "restRevision",
    case s.made_by when 'PROXY' then s.subject end as voucher, s.last_used_at as "lastUsedAt", ${ENDS_AT} as "endsAt", u.suspended_at is not null as "isSuspended",
    u.removing_at is not null as "isRemoving", coalesce(k.allowed_networks, '{}') as "allowedNetworks"
  from ${SESSIONS} join users u on u.id = s.user_id where ${IS_LIVE}`;

/** Served by the unique index of the hash. */
export function findSessionBySecretHash(db: Db, secretHash: Buffer): Promise<FoundSecret | undefined> {
  return findOne(db, { name: 'session-by-secret', text: `${FOUND} and s.secret_hash = $1`, values: [secretHash] });
}

/** Finds the session that opened a port of a private pod. Served by the unique index of the hash. */
export function findSessionByPodSecretHash(db: Db, secretHash: Buffer): Promise<FoundSecret | undefined> {
  const text = `${FOUND} and s.id = (select p.session_id from pod_sign_ins p where p.secret_hash = $1)`;
  return findOne(db, { name: 'session-by-pod-secret', text, values: [secretHash] });
}

async function findOne(
  db: Db,
  query: { name: string; text: string; values: unknown[] },
): Promise<FoundSecret | undefined> {
  const result = await db.query<FoundRow>(query);
  return result.rows[0] && toFound(result.rows[0]);
}

function toFound({
  id,
  userId,
  keyId,
  scopes,
  restRevision,
  voucher,
  lastUsedAt,
  endsAt,
  ...row
}: FoundRow): FoundSecret {
  const actor = {
    userId,
    keyId: '' as KeyId,
    sessionId: id,
    scopes: scopes?.map(parseScope) ?? EVERYTHING,
    restRevision: toRevision(restRevision),
    ...(voucher !== null && { voucher }),
  };
  return { ...row, id, actor, keyId, lastUsedAt, endsMs: endsAt.getTime() };
}

function toRevision(name: string | null): RestRevision | null {
  return name !== null && isRestRevision(name) ? name : null; // a later version may have stored a later one
}

/** Returns those of `ids` that have not ended and are not a suspended user's, with their end in ms since 1970. */
export async function findLiveSessions(db: Db, ids: readonly string[]): Promise<Map<string, number>> {
  const result = await db.query<{ id: string; endsAt: Date }>({
    name: 'sessions-live',
    text: `select s.id, ${ENDS_AT} as "endsAt" from ${SESSIONS} join users u on u.id = s.user_id
           where s.id = any($1::text[]) and ${IS_LIVE} and u.suspended_at is null`,
    values: [ids],
  });
  return new Map(result.rows.map(({ id, endsAt }) => [id, endsAt.getTime()]));
}

/** Records that sessions were used now: each is written at most once a minute. Skips rows that another process is writing. */
export async function updateSessionsUsed(db: Db, ids: readonly string[]): Promise<void> {
  await db.query({
    name: 'sessions-used',
    text: `update sessions set last_used_at = now() where id in (
             select id from sessions where id = any($1::text[]) and last_used_at < now() - interval '1 minute'
             for no key update skip locked)`,
    values: [ids],
  });
}

/** Returns what a session may hand on to a key, locked against its end until the commit; undefined if it has ended. */
export async function findSessionForShare(
  db: Db,
  id: SessionId,
): Promise<
  { keyId: KeyId | null; scopes: readonly Scope[]; expiresAt: Date | null; allowedNetworks: string[] } | undefined
> {
  const result = await db.query<{
    keyId: KeyId | null;
    scopes: string[] | null;
    expiresAt: Date | null;
    allowedNetworks: string[];
  }>(
    `select s.key_id as "keyId", k.scopes, k.expires_at as "expiresAt", coalesce(k.allowed_networks, '{}') as "allowedNetworks"
     from ${SESSIONS} where s.id = $1 and ${IS_LIVE} for share of s`,
    [id],
  );
  const found = result.rows[0];
  return found && { ...found, scopes: found.scopes?.map(parseScope) ?? EVERYTHING };
}

/** Returns a user's sessions that have not ended, the one used last first. */
export async function listSessions(db: Db, userId: UserId): Promise<Session[]> {
  const result = await db.query<Session>(
    `select s.id, s.user_id as "userId", s.made_by as "madeBy", coalesce(k.name, s.provider) as "madeWith",
       s.user_agent as "userAgent", s.address, s.created_at as "createdAt", s.last_used_at as "lastUsedAt", ${ENDS_AT} as "endsAt"
     from ${SESSIONS} where s.user_id = $1 and ${IS_LIVE} order by s.last_used_at desc, s.id`,
    [userId],
  );
  return result.rows;
}

/** False if the user has no such session. */
export async function deleteSession(db: Db, userId: UserId, id: SessionId): Promise<boolean> {
  return (await db.query('delete from sessions where user_id = $1 and id = $2', [userId, id])).rowCount === 1;
}

/** Publish the hint `user` after it. */
export async function deleteSessionsOfUser(db: Db, userId: UserId): Promise<void> {
  await db.query('delete from sessions where user_id = $1', [userId]);
}

/** Deletes what has ended, and all but the user's newest ones. Returns those that had not ended. */
export async function deleteSurplusSessions(db: Db, userId: UserId, kept: number): Promise<EndedSession[]> {
  const result = await db.query<EndedSession>(
    `with surplus as (
       select * from (
         select s.id, ${IS_LIVE} is true as is_live, row_number() over (order by s.last_used_at desc, s.id) as place
         from ${SESSIONS} where s.user_id = $1
       ) x where not is_live or place > $2
     ), deleted as (
       delete from sessions where id in (select id from surplus)
     )
     select id, $1 as "userId" from surplus where is_live`,
    [userId, kept],
  );
  return result.rows;
}
