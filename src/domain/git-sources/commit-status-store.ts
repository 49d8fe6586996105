import type { BuildId, GitSourceId, SecretId, UserId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';
import type { GitCommit } from '../builds/build.ts';
import type { CommitState, StatusApi } from './commit-status.ts';

/** The state of a build as its git host shows it. `b`: its row. */
const STATE = `case when b.ended_at is null then 'PENDING' when b.status = 'COMPLETED' then 'SUCCESS'
                    when b.status = 'CANCELLED' then 'CANCELLED' else 'FAILURE' end`;

/** Queues the status of a build for its source's host, if statuses are enabled, and drops queued ones of earlier builds of the commit. */
export async function queueCommitStatus(db: Db, id: BuildId, sourceId: GitSourceId): Promise<void> {
  const { rowCount } = await db.query(
    `insert into commit_statuses (build_id) select $1 from git_sources where id = $2 and statuses <> 'NONE'`,
    [id, sourceId],
  );
  if (rowCount === 0) return;
  await db.query(
    `delete from commit_statuses c using builds b, builds n
     where n.id = $1 and b.git_source_id = $2 and b.git->>'commit' = n.git->>'commit' and b.id <> n.id and c.build_id = b.id`,
    [id, sourceId],
  );
}

/** A status that a host does not have yet. */
export interface DueStatus {
  buildId: BuildId;
  sourceId: GitSourceId;
  userId: UserId;
  endpointName: string;
  statuses: Exclude<StatusApi, 'NONE'>;
  git: GitCommit;
  state: CommitState;
  failures: number;
  /** The secret with the token; null: it was deleted. */
  tokenSecretId: SecretId | null;
  secret: string | null;
  /** Sealed. */
  token: Buffer | null;
  /** Until it may be tried; 0 or less: now. */
  inMs: number;
}

/**
 * Returns of each active user the status that may be posted next, due or not, the earliest first. Rows of sources that were
 * disconnected, or have another repository by now, go.
 */
export async function listStatuses(db: Db): Promise<DueStatus[]> {
  await db.query(
    `delete from commit_statuses c using builds b left join git_sources s on s.id = b.git_source_id
     where b.id = c.build_id and (s.id is null or s.statuses = 'NONE' or s.url <> b.git->>'url')`,
  );
  const { rows } = await db.query<DueStatus>({
    name: 'commit-statuses',
    text: `select * from (
             select distinct on (e.user_id) b.id as "buildId", s.id as "sourceId", e.user_id as "userId", e.name as "endpointName",
               s.statuses, b.git, ${STATE} as state, c.failures, s.token_secret_id as "tokenSecretId", t.name as secret, t.value as token,
               extract(epoch from c.next_at - now())::float8 * 1000 as "inMs"
             from commit_statuses c join builds b on b.id = c.build_id join git_sources s on s.id = b.git_source_id
               join endpoints e on e.id = s.endpoint_id join users u on u.id = e.user_id left join secrets t on t.id = s.token_secret_id
             where c.posted is distinct from ${STATE} and u.suspended_at is null
             order by e.user_id, c.next_at, b.number) next
           order by "inMs" limit 100`,
  });
  return rows;
}

/** Notes that a host has a status, or refused it for good (`error`). Its row goes with the last one. */
export async function endStatus(
  db: Db,
  { buildId, sourceId, state }: Pick<DueStatus, 'buildId' | 'sourceId' | 'state'>,
  error: string | null,
): Promise<void> {
  if (state === 'PENDING')
    await db.query('update commit_statuses set posted = $2, failures = 0 where build_id = $1', [buildId, state]);
  else await db.query('delete from commit_statuses where build_id = $1', [buildId]);
  await noteStatusError(db, sourceId, error);
}

/** Has a status posted later. */
export async function postponeStatus(
  db: Db,
  { buildId, sourceId }: Pick<DueStatus, 'buildId' | 'sourceId'>,
  { seconds, error }: { seconds: number; error: string },
): Promise<void> {
  await db.query(
    'update commit_statuses set failures = failures + 1, next_at = now() + make_interval(secs => $2) where build_id = $1',
    [buildId, seconds],
  );
  await noteStatusError(db, sourceId, error);
}

async function noteStatusError(db: Db, id: GitSourceId, error: string | null): Promise<void> {
  await db.query('update git_sources set status_error = $2 where id = $1 and status_error is distinct from $2', [
    id,
    error,
  ]);
}
