import { notFound } from '../../core/errors.ts';
import type { EndpointId, GitSourceId, SecretId, UserId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';
import type { StatusApi } from './commit-status.ts';
import type { GitAuth, GitSettings, GitSource, GitTarget } from './git-source.ts';

/** The columns of a GitSource; `s`: its row. */
const COLUMNS = `
  s.id, s.endpoint_id as "endpointId", s.url, s.branch, s.tags, s.folder, s.build,
  s.apply_settings as "applySettings",
  case s.auth when 'TOKEN' then json_build_object('type', s.auth, 'secret', (select name from secrets where id = s.token_secret_id))
              when 'DEPLOY_KEY' then json_build_object('type', s.auth, 'publicKey', s.public_key)
              else json_build_object('type', s.auth) end as auth,
  s.poll_seconds as "pollSeconds", s.statuses, s.status_error as "statusError",
  s.asks > s.answered_asks or s.failures > 0 as "isLooking", s.last_commit as "lastCommit",
  s.last_ref as "lastRef", coalesce(s.last_error, s.commit_error) as "lastError", s.last_looked_at as "lastLookedAt", s.created_at as "createdAt",
  (select b.id from builds b where b.git_source_id = s.id order by b.number desc limit 1) as "lastBuildId"`;

/** Undefined if the endpoint has none. The caller has checked whose it is. */
export async function findGitSource(db: Db, endpointId: EndpointId): Promise<GitSource | undefined> {
  const { rows } = await db.query<GitSource>(`select ${COLUMNS} from git_sources s where s.endpoint_id = $1`, [
    endpointId,
  ]);
  return rows[0];
}

/** Throws `notFound` if the endpoint has none. */
export async function getGitSource(db: Db, endpointId: EndpointId): Promise<GitSource> {
  const source = await findGitSource(db, endpointId);
  if (!source) throw notFound('Git source');
  return source;
}

/** The row of a source when it is connected. Null: the stored value stays. */
export interface GitSourceRow extends GitTarget {
  id: GitSourceId;
  endpointId: EndpointId;
  auth: GitAuth['type'];
  tokenSecretId: SecretId | null;
  publicKey: string | null;
  /** Sealed, as the next. */
  privateKey: Buffer | null;
  webhookSecret: Buffer | null;
  pollSeconds: number | null;
  statuses: StatusApi;
}

/** Stores an endpoint's source, which is looked at as if nothing of it had been seen. */
export async function upsertGitSource(db: Db, row: GitSourceRow): Promise<void> {
  const { id, endpointId, url, branch, tags, folder, build, auth, tokenSecretId } = row;
  const { publicKey, privateKey, webhookSecret, pollSeconds, statuses, applySettings } = row;
  await db.query(
    `insert into git_sources (id, endpoint_id, url, branch, tags, folder, build, auth, token_secret_id, public_key, private_key,
       webhook_secret, poll_seconds, statuses, apply_settings)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, coalesce($12::bytea, ''::bytea), $13, $14, $15)
     on conflict (endpoint_id) do update set
       url = excluded.url, branch = excluded.branch, tags = excluded.tags, folder = excluded.folder, build = excluded.build,
       auth = excluded.auth, token_secret_id = excluded.token_secret_id, public_key = excluded.public_key,
       private_key = excluded.private_key, webhook_secret = coalesce($12::bytea, git_sources.webhook_secret),
       poll_seconds = excluded.poll_seconds, statuses = excluded.statuses, apply_settings = excluded.apply_settings, status_error = null, asks = git_sources.asks + 1, failures = 0, next_look_at = null,
       last_commit = null, last_ref = null, last_error = null, commit_error = null, last_looked_at = null`,
    [
      ...[id, endpointId, url, branch, tags, folder, JSON.stringify(build), auth, tokenSecretId],
      ...[publicKey, privateKey, webhookSecret, pollSeconds, statuses, applySettings],
    ],
  );
}

/** Returns the sealed deploy key of an endpoint's source; null if it has none. */
export async function findDeployKey(
  db: Db,
  endpointId: EndpointId,
): Promise<{ publicKey: string; privateKey: Buffer } | null> {
  const { rows } = await db.query<{ publicKey: string; privateKey: Buffer }>(
    `select public_key as "publicKey", private_key as "privateKey" from git_sources
     where endpoint_id = $1 and private_key is not null`,
    [endpointId],
  );
  return rows[0] ?? null;
}

export async function deleteGitSource(db: Db, endpointId: EndpointId): Promise<void> {
  await db.query('delete from git_sources where endpoint_id = $1', [endpointId]);
}

/** Has control look at a source soon, whatever it saw before. */
export async function askForLook(db: Db, id: GitSourceId): Promise<void> {
  await db.query('update git_sources set asks = asks + 1 where id = $1', [id]);
}

/** Returns the secret that a webhook is checked with; undefined if there is none. */
export async function findHook(
  db: Db,
  id: string,
): Promise<
  (Pick<GitTarget, 'branch' | 'tags'> & { id: GitSourceId; userId: UserId; webhookSecret: Buffer }) | undefined
> {
  const { rows } = await db.query<
    Pick<GitTarget, 'branch' | 'tags'> & { id: GitSourceId; userId: UserId; webhookSecret: Buffer }
  >({
    name: 'git-hook',
    text: `select s.id, e.user_id as "userId", s.branch, s.tags, s.webhook_secret as "webhookSecret"
           from git_sources s join endpoints e on e.id = s.endpoint_id where s.id = $1`,
    values: [id],
  });
  return rows[0];
}

/** A source that is to be looked at now. */
export interface DueSource extends GitTarget {
  id: GitSourceId;
  endpointId: EndpointId;
  userId: UserId;
  endpointName: string;
  serves: 'jobs' | 'requests';
  auth: GitAuth['type'];
  tokenSecretId: SecretId | null;
  /** The secret's name and sealed value. */
  secret: string | null;
  token: Buffer | null;
  privateKey: Buffer | null;
  knownHosts: string;
  pollSeconds: number | null;
  asks: number;
  /** A user asked for a check of the repository and waits for it: it is made even after an error. */
  isAsked: boolean;
  failures: number;
  lastCommit: string | null;
  /** Why that is not built or deployed. */
  commitError: string | null;
}

/**
 * Returns of each active user the source that is due for the longest time, those that wait longest first. Served by
 * git_sources_asked and git_sources_due.
 */
export async function listDueSources(db: Db): Promise<DueSource[]> {
  const { rows } = await db.query<DueSource>({
    name: 'git-due',
    text: `select * from (
           select distinct on (e.user_id) s.id, s.endpoint_id as "endpointId", e.user_id as "userId", e.name as "endpointName",
             case e.type when 'LOAD_BALANCING' then 'requests' else 'jobs' end as serves,
             s.url, s.branch, s.tags, s.folder, s.build, s.apply_settings as "applySettings", s.auth, s.token_secret_id as "tokenSecretId", t.name as secret,
             t.value as token, s.private_key as "privateKey", s.known_hosts as "knownHosts", s.poll_seconds as "pollSeconds",
             s.asks, s.asks > s.answered_asks or s.failures > 0 as "isAsked", s.failures, s.last_commit as "lastCommit",
             s.commit_error as "commitError", s.last_looked_at
           from git_sources s join endpoints e on e.id = s.endpoint_id join users u on u.id = e.user_id
             left join secrets t on t.id = s.token_secret_id
           where (s.asks > s.answered_asks or s.next_look_at <= now()) and u.suspended_at is null
           order by e.user_id, s.last_looked_at nulls first, s.id) due
           order by last_looked_at nulls first, id limit 100`,
  });
  return rows;
}

/** Returns in how many ms the next source is due that is not due now; null: none. */
export async function nextLookMs(db: Db): Promise<number | null> {
  const { rows } = await db.query<{ inMs: number | null }>(
    `select extract(epoch from min(next_look_at) - now())::float8 * 1000 as "inMs" from git_sources where next_look_at > now()`,
  );
  return rows[0]!.inMs === null ? null : Math.max(0, rows[0]!.inMs);
}

export interface LookEnd {
  /** The commit that needs no further look; null: as before. */
  seen: { commit: string; ref: string } | null;
  /** The error of that commit; without one, of the look. */
  error: string | null;
  /** When to look again; null: when asked. */
  nextSeconds: number | null;
  failures: number;
  knownHosts: string;
}

/** Stores how a look ended. What was asked for since it began is due again. */
export async function endLook(
  db: Db,
  { id, asks, url }: Pick<DueSource, 'id' | 'asks' | 'url'>,
  end: LookEnd,
): Promise<void> {
  await db.query(
    `update git_sources set answered_asks = $2, last_looked_at = now(), last_error = case when $7::text is null then $3 end,
       commit_error = case when $7::text is null then commit_error else $3 end, failures = $4, known_hosts = $5,
       next_look_at = now() + make_interval(secs => $6), last_commit = coalesce($7::text, last_commit), last_ref = coalesce($8, last_ref)
     where id = $1 and url = $9`,
    [
      ...[id, asks, end.error, end.failures, end.knownHosts, end.nextSeconds],
      ...[end.seen?.commit ?? null, end.seen?.ref ?? null, url],
    ],
  );
}

/** Returns what a source's newest build was made of, if it has an image or will have one; else null. */
export async function findNewestContent(
  db: Db,
  id: GitSourceId,
): Promise<{ contentHash: string; settings: GitSettings | null } | null> {
  const { rows } = await db.query<{ contentHash: string; settings: GitSettings | null; isThere: boolean }>(
    `select content_hash as "contentHash", settings, deployment <> 'DROPPED' and (ended_at is null or image is not null) as "isThere"
     from builds where git_source_id = $1 order by number desc limit 1`,
    [id],
  );
  const { isThere, ...content } = rows[0] ?? { isThere: false, contentHash: '', settings: null };
  return isThere ? content : null;
}

/** Notes why a commit that was built is not deployed. */
export async function noteError(db: Db, id: GitSourceId, error: string): Promise<void> {
  await db.query('update git_sources set commit_error = $2 where id = $1', [id, error]);
}
