/** Control's reads and writes of builds: only the leader makes them. */
import { Failure } from '../../core/errors.ts';
import type { BuildId, RegistryId, UserId } from '../../core/ids.ts';
import type { SecretBox } from '../../core/secret-box.ts';
import { type Db, type Pool, transaction } from '../../db/pool.ts';
import { limitsOfRow, setLimitsColumns } from '../quotas/limit-store.ts';
import type { OwnLimits } from '../quotas/limits.ts';
import { openCredentials } from '../registries/open-credentials.ts';
import type { Credentials } from '../registries/sealed-credentials.ts';
import { listSealedValues } from '../secrets/secret-store.ts';
import type { BuildLine, BuildStatus, BuildStep } from './build.ts';
import type { BuildInput } from './build-store.ts';

/** A build that has not ended. */
export interface UnfinishedBuild {
  id: BuildId;
  userId: UserId;
  name: string;
  status: BuildStatus;
  isCancelling: boolean;
  interruptions: number;
  reason: string | null;
  /** Builds that the user may have at once; null: any number. */
  limit: number | null;
  /** When a build of the user began last; null: never. */
  userStartedAt: Date | null;
}

/** Returns those of all users, in the order in which they were made. Served by builds_unfinished. */
export async function listUnfinishedBuilds(db: Db): Promise<UnfinishedBuild[]> {
  const { rows } = await db.query<Omit<UnfinishedBuild, 'limit'> & { ownLimits: OwnLimits; defaultLimits: OwnLimits }>({
    name: 'builds-unfinished',
    text: `select b.id, b.user_id as "userId", b.name, b.status, b.is_cancelling as "isCancelling", b.interruptions, b.reason,
                  (select max(started_at) from builds o where o.user_id = b.user_id) as "userStartedAt",
                  ${setLimitsColumns('b.user_id')}
           from builds b where b.ended_at is null order by b.number`,
  });
  return rows.map(({ ownLimits, defaultLimits, ...build }) => ({
    ...build,
    limit: limitsOfRow({ ownLimits, defaultLimits }).builds,
  }));
}

export interface StartedBuild extends BuildInput {
  id: BuildId;
  userId: UserId;
  /** Number of the last line that an earlier, interrupted run has printed. */
  lastLine: number;
}

/** Marks a queued build as running. Undefined if it was cancelled meanwhile. */
export async function startBuild(db: Db, id: BuildId): Promise<StartedBuild | undefined> {
  const { rows } = await db.query<StartedBuild>(
    `update builds b set status = 'BUILDING', started_at = now(), reason = null where id = $1 and status = 'QUEUED'
     returning id, user_id as "userId", name, recipe, args, secrets, registries, uses_cache as "usesCache",
       coalesce((select max(number) from build_lines l where l.build_id = b.id), 0) as "lastLine"`,
    [id],
  );
  return rows[0];
}

/** Notes why a queued build waits. */
export async function noteWait(db: Db, id: BuildId, reason: string): Promise<void> {
  await db.query("update builds set reason = $2 where id = $1 and status = 'QUEUED'", [id, reason]);
}

export type BuildEnd =
  | { status: 'COMPLETED'; image: string; digest: string; sizeBytes: number }
  | { status: 'FAILED' | 'CANCELLED'; reason: string; failedStep: string | null };

/** Ends a build that runs; what of it still runs ends with it. Does nothing if it has ended. */
export async function endBuild(pool: Pool, id: BuildId, end: BuildEnd): Promise<void> {
  const { status, image, digest, sizeBytes, reason, failedStep } = {
    ...{ image: null, digest: null, sizeBytes: null, reason: null, failedStep: null },
    ...end,
  };
  await transaction(pool, async (db) => {
    const { rowCount } = await db.query(
      `update builds set status = $2, image = $3, digest = $4, size_bytes = $5, reason = $6, failed_step = $7, ended_at = now()
       where id = $1 and ended_at is null`,
      [id, status, image, digest, sizeBytes, reason, failedStep],
    );
    if (rowCount === 1) await endSteps(db, id, status === 'COMPLETED' ? 'COMPLETED' : 'FAILED');
  });
}

async function endSteps(db: Db, id: BuildId, status: BuildStep['status']): Promise<void> {
  await db.query("update build_steps set status = $2, ended_at = now() where build_id = $1 and status = 'RUNNING'", [
    id,
    status,
  ]);
}

/** Puts a running build back to the queue, in its old place. `isKilled`: its server ended without a word. */
export async function requeueBuild(
  pool: Pool,
  id: BuildId,
  { isKilled, line }: { isKilled: boolean; line: string },
): Promise<void> {
  await transaction(pool, async (db) => {
    const { rowCount } = await db.query(
      `update builds set status = 'QUEUED', started_at = null, reason = $3, interruptions = interruptions + $2
       where id = $1 and status in ('BUILDING', 'PUSHING')`,
      [id, isKilled ? 1 : 0, line],
    );
    if (rowCount === 0) return;
    await db.query('delete from build_steps where build_id = $1', [id]);
    await db.query(
      `insert into build_lines (build_id, number, at, stream, text)
       select $1, coalesce(max(number), 0) + 1, now(), 'system', $2 from build_lines where build_id = $1`,
      [id, line],
    );
  });
}

export interface StepUpdate extends BuildStep {
  /** Unique in the build. */
  step: string;
  number: number;
}

/** A line as it is stored: `step` is the step's id. */
export type StoredLine = BuildLine;

/** Stores what happened in a build since the last call. */
export async function appendEvents(
  pool: Pool,
  id: BuildId,
  { steps, lines, isPushing }: { steps: readonly StepUpdate[]; lines: readonly StoredLine[]; isPushing: boolean },
): Promise<void> {
  await transaction(pool, async (db) => {
    if (isPushing) await db.query("update builds set status = 'PUSHING' where id = $1 and status = 'BUILDING'", [id]);
    if (steps.length > 0) {
      await db.query(
        `insert into build_steps (build_id, step, number, name, status, started_at, ended_at)
         select $1, step, number, name, status, "startedAt", "endedAt" from jsonb_to_recordset($2::jsonb)
           as n(step text, number int, name text, status text, "startedAt" timestamptz, "endedAt" timestamptz)
         on conflict (build_id, step) do update set name = excluded.name, status = excluded.status, ended_at = excluded.ended_at`,
        [id, JSON.stringify(steps)],
      );
    }
    if (lines.length > 0) {
      await db.query(
        `insert into build_lines (build_id, number, at, step, stream, text)
         select $1, number, at, step, stream, text from jsonb_to_recordset($2::jsonb)
           as n(number int, at timestamptz, step text, stream text, text text)
         on conflict do nothing`,
        [id, JSON.stringify(lines)],
      );
    }
  });
}

/** Secrets that a build is given beside its folder. */
export interface OpenedSecrets {
  /** By id. */
  secrets: Record<string, string>;
  /** By the host of the registry. */
  registries: Record<string, Credentials>;
}

/** Opens the secrets of a build and the credentials of its registries. Throws `unprocessable` for one that is gone. */
export async function openBuildSecrets(
  { pool, secretBox }: { pool: Pool; secretBox: SecretBox },
  { userId, secrets, registries }: Pick<StartedBuild, 'userId' | 'secrets' | 'registries'>,
): Promise<OpenedSecrets> {
  const sealed = await listSealedValues(pool, userId, Object.values(secrets));
  const byName = new Map(sealed.map(({ id, name, value }) => [name, secretBox.open(value, id)]));
  const missing = Object.values(secrets).find((name) => !byName.has(name));
  if (missing !== undefined) throw new Failure('unprocessable', `There is no secret '${missing}' any more.`);
  const opened: OpenedSecrets = { secrets: {}, registries: {} };
  for (const [id, name] of Object.entries(secrets)) opened.secrets[id] = byName.get(name)!;
  for (const [host, id] of Object.entries(registries)) {
    opened.registries[host] = await openCredentials({ pool, secretBox }, userId, id as RegistryId);
  }
  return opened;
}
