import type { EndpointId, WorkerId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';
import { because } from '../../scaling/because.ts';
import type { TrialEnd, TrialFacts, TrialState } from '../../scaling/decide-trial.ts';
import { withoutOutput } from '../logs/quote-output.ts';
import { bareTrial, type Trial } from './trial.ts';

/** A release of an endpoint. */
interface ReleaseKey {
  id: EndpointId;
  version: number;
}

/**
 * Asks for the trial of an endpoint's newest release; again, if the last one failed or was skipped. `skipped`: why there is
 * none; a failed one stays as it is then. Call it in the transaction that locked the endpoint. Returns paused workers that may start now.
 */
export async function askForTrial(db: Db, release: ReleaseKey, skipped: string | null): Promise<WorkerId[]> {
  if (skipped !== null) {
    await writeTrial(db, release, { state: 'SKIPPED', reason: skipped, over: ['SKIPPED'] });
    return [];
  }
  const isAsked = await writeTrial(db, release, { state: 'ASKED', reason: null, over: ['FAILED', 'SKIPPED'] });
  return isAsked ? endPauses(db, release) : [];
}

/** Ends the trial of an endpoint's newest release, unless it has passed, or keeps it from being tried. */
export async function skipTrial(db: Db, release: ReleaseKey, reason: string): Promise<void> {
  await writeTrial(db, release, { state: 'SKIPPED', reason, over: ['ASKED', 'FAILED', 'SKIPPED'] });
}

/** Begins a trial in a state, or replaces one that is in one of `over`; from then on the newest release serves. False if it is in another one. */
async function writeTrial(
  db: Db,
  { id, version }: ReleaseKey,
  { state, reason, over }: { state: TrialState; reason: string | null; over: TrialState[] },
): Promise<boolean> {
  const result = await db.query(
    `insert into release_trials as t (endpoint_id, version, state, reason, ended_at)
     values ($1, $2, $3, $4, case when $3 <> 'ASKED' then now() end)
     on conflict (endpoint_id, version) do update
       set state = excluded.state, reason = excluded.reason, worker_id = null, asked_at = now(), ended_at = excluded.ended_at
       where t.state = any($5::text[])`,
    [id, version, state, reason, over],
  );
  if (result.rowCount === 0) return false;
  await serveNewest(db, id);
  return true;
}

/** Ends the service of an earlier release. */
async function serveNewest(db: Db, id: EndpointId): Promise<void> {
  await db.query('update endpoints set serving_version = null where id = $1 and serving_version is not null', [id]);
}

/** Ends the backoff of a release's waiting workers. Returns them. */
async function endPauses(db: Db, { id, version }: ReleaseKey): Promise<WorkerId[]> {
  const { rows } = await db.query<{ id: WorkerId }>(
    `update workers set not_before = null, phase_reason = null, is_lost = false
     where endpoint_id = $1 and version = $2 and phase = 'PENDING' and is_lost and not_before > now() returning id`,
    [id, version],
  );
  return rows.map((row) => row.id);
}

/** A trial that is open or has failed, and what decides about it. */
export interface UndecidedTrial extends ReleaseKey, TrialFacts {
  state: 'ASKED' | 'FAILED';
}

/** Failures are looked for among so many recently ended workers. */
const RECENT_WORKERS = 64;
/** How the reason of a worker begins that reported itself unhealthy: it is drained, and no lost one. */
const UNHEALTHY = because('UNHEALTHY', '').reason;

/** Returns the trials of the newest releases of these endpoints that are open or have failed. */
export async function listUndecidedTrials(db: Db, ids: readonly EndpointId[]): Promise<UndecidedTrial[]> {
  const columns = 'id, version, phase, phase_reason, wanted_reason, is_lost, not_before, ready_at, exited_at';
  const { rows } = await db.query<Omit<UndecidedTrial, 'failure'> & { failedId: WorkerId | null; failedFor: string }>({
    name: 'trials-undecided',
    text: `
      select e.id, e.version, t.state, e.workers_max as max, e.is_rollout_paused as "isRolloutPaused", w.*
      from endpoints e
      join release_trials t on t.endpoint_id = e.id and t.version = e.version and t.state in ('ASKED', 'FAILED')
      cross join lateral (
        select (array_agg(id order by ready_at) filter (where ready_at is not null))[1] as "readyWorkerId",
               (array_agg(id order by exited_at) filter (where failure is not null))[1] as "failedId",
               (array_agg(failure order by exited_at) filter (where failure is not null))[1] as "failedFor"
        from (
          select *, case when ready_at is not null or exited_at <= t.asked_at then null
                         when starts_with(wanted_reason, $2) then wanted_reason
                         when is_lost and (phase = 'EXITED' or phase = 'PENDING' and not_before is null)
                           then coalesce(phase_reason, 'no reason known') end as failure
          from (
            (select ${columns} from workers where endpoint_id = e.id and phase <> 'EXITED')
            union all
            (select ${columns} from workers where endpoint_id = e.id and phase = 'EXITED'
             order by exited_at desc limit ${RECENT_WORKERS})) own
          where version = e.version) judged) w
      where e.id = any($1::text[])`,
    values: [ids, UNHEALTHY],
  });
  return rows.map(({ failedId, failedFor, ...trial }) => ({
    ...trial,
    failure: failedId && { workerId: failedId, reason: failedFor },
  }));
}

/**
 * Stores how a trial ended. After a failure the newest earlier release serves that is not known to fail and was not replaced before it was
 * tried; if there is none, the newest stays. False, and nothing is written, if there is a newer release or the trial has ended otherwise.
 */
export async function endTrial(
  db: Db,
  { id, version }: ReleaseKey,
  { state, reason, workerId }: TrialEnd,
): Promise<boolean> {
  const result = await db.query({
    name: 'trial-end',
    text: `with endpoint as (select id from endpoints where id = $1 and version = $2 for update),
                ended as (
                  update release_trials t set state = $3, reason = $4, worker_id = $5, ended_at = now()
                  from endpoint where t.endpoint_id = endpoint.id and t.version = $2 and t.state in ('ASKED', 'FAILED')
                  returning t.endpoint_id)
           update endpoints e set serving_version = case $3 when 'FAILED' then (
             select max(r.version) from releases r
             left join release_trials p on p.endpoint_id = r.endpoint_id and p.version = r.version
             where r.endpoint_id = $1 and r.version < $2 and coalesce(p.state in ('PASSED', 'SKIPPED'), true)) end
           from ended where e.id = ended.endpoint_id`,
    values: [id, version, state, reason, workerId],
  });
  return result.rowCount === 1;
}

type TrialRow = {
  state: TrialState;
  reason: string | null;
  workerId: WorkerId | null;
  phase: string | null;
  waitsFor: string | null;
  servingVersion: number | null;
};

/** Returns the trial of an endpoint's newest release. `hasRun`: one of its workers is known to have been ready. */
export async function readTrial(db: Db, { id, version }: ReleaseKey, hasRun: boolean): Promise<Trial> {
  const { rows } = await db.query<TrialRow>({
    name: 'trial-get',
    text: `select t.state, t.reason, coalesce(w.id, t.worker_id) as "workerId", w.phase,
                  coalesce(w.phase_reason, d.reason) as "waitsFor",
                  e.serving_version as "servingVersion"
           from release_trials t join endpoints e on e.id = t.endpoint_id
           left join lateral (
             select id, phase, phase_reason from workers w
             where t.state = 'ASKED' and w.endpoint_id = $1 and w.version = $2 and w.phase not in ('FROZEN', 'EXITED')
               and w.wanted = 'RUN' order by created_at limit 1) w on true
           left join lateral (
             select reason from (
               select reason, inputs ? 'userCut' as is_limited from scaling_decisions s
               where s.endpoint_id = $1 and s.inputs <> '{}' order by s.id desc limit 1) last
             where t.state = 'ASKED' and w.id is null and is_limited) d on true
           where t.endpoint_id = $1 and t.version = $2`,
    values: [id, version],
  });
  return rows[0] ? toTrial(rows[0]) : bareTrial(hasRun ? 'PASSED' : 'NOT_TRIED');
}

function toTrial({ state, reason, workerId, phase, waitsFor, servingVersion }: TrialRow): Trial {
  if (state === 'ASKED') {
    const isPlaced = phase !== null && phase !== 'PENDING';
    return { state: isPlaced ? 'RUNNING' : 'WAITING', reason: waitsFor, lines: [], workerId, servingVersion };
  }
  const sentence = reason && withoutOutput(reason);
  const lines = reason === null || sentence === reason ? [] : reason.slice(sentence!.length + 2).split('\n');
  return { state, reason: sentence, lines, workerId, servingVersion };
}
