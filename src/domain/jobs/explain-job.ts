import type { EndpointId, JobId, WorkerId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';
import { type TimelineMarks, workerStages } from '../workers/worker-timeline.ts';

/**
 * What a job waited for, and then its run. `queue`: a worker was there, others came first. `worker`: nobody had decided to
 * start or thaw one yet. `thaw`, and the stages of a worker's start: a worker was on its way.
 */
export type WaitStage = 'queue' | 'worker' | 'thaw' | 'capacity' | 'pull' | 'create' | 'start' | 'ready' | 'running';

export interface ExplainedStage {
  stage: WaitStage;
  from: Date;
  /** Null while it lasts. */
  to: Date | null;
  /** One sentence, where there is more to say than the stage's name. */
  reason: string | null;
}

/** One try: from when it could be taken until its run was over. */
export interface ExplainedAttempt {
  attempt: number;
  workerId: WorkerId | null;
  stages: ExplainedStage[];
}

/** What is known of the worker that took a job or, while nobody did, of the one that is nearest to doing so. */
export interface WaitedFor {
  id: WorkerId;
  createdAt: Date;
  endedAt: Date | null;
  timeline: TimelineMarks;
  /** Why it was started or thawed. */
  decision: string;
  phaseReason: string | null;
  /** The thaw that ended last before the job was taken, or the one under way. */
  thaw: { wantedAt: Date; at: Date | null } | null;
}

/**
 * Cuts the time of an attempt into stages without gaps. `to` null: it still waits, or still runs. Only the worker's own
 * times decide: a job that was submitted while a worker loaded waited for the rest of the loading and no more.
 */
export function explainAttempt(
  wait: { from: Date; takenAt: Date | null; endedAt: Date | null },
  worker: WaitedFor | null,
): ExplainedStage[] {
  const until = wait.takenAt ?? wait.endedAt;
  const stages = worker === null ? [] : onTheWay(worker);
  const cut: ExplainedStage[] = [];
  let at = wait.from.getTime();
  const end = until?.getTime() ?? Number.POSITIVE_INFINITY;
  const add = (stage: WaitStage, to: number, reason: string | null) => {
    const last = Math.min(to, end);
    if (last <= at) return;
    cut.push({ stage, from: new Date(at), to: Number.isFinite(last) ? new Date(last) : null, reason });
    at = last;
  };
  const [first] = stages;
  if (first) add('worker', first.from.getTime(), null);
  for (const { stage, to, reason } of stages) add(stage, to?.getTime() ?? Number.POSITIVE_INFINITY, reason);
  add(worker === null ? 'worker' : 'queue', Number.POSITIVE_INFINITY, null);
  if (wait.takenAt !== null) cut.push({ stage: 'running', from: wait.takenAt, to: wait.endedAt, reason: null });
  return cut;
}

/** What the worker goes through until it takes work: a thaw, or else its start. */
function onTheWay(worker: WaitedFor): ExplainedStage[] {
  if (worker.thaw !== null) {
    const { wantedAt, at } = worker.thaw;
    return [{ stage: 'thaw', from: wantedAt, to: at, reason: worker.decision }];
  }
  return workerStages(worker, worker.timeline).map(({ stage, from, to }, i) => ({
    stage,
    from,
    to,
    reason: to === null && worker.phaseReason !== null ? worker.phaseReason : i === 0 ? worker.decision : null,
  }));
}

interface TriedRow {
  attempt: number;
  workerId: WorkerId;
  startedAt: Date;
  lostAt: Date;
}

/** What the job waited for, try by try. Null when there is no such job. One statement a part: a rare look, no hot path. */
export async function explainJob(db: Db, endpointId: EndpointId, jobId: JobId): Promise<ExplainedAttempt[] | null> {
  const jobs = await db.query<{
    createdAt: Date;
    startedAt: Date | null;
    endedAt: Date | null;
    workerId: WorkerId | null;
    attempt: number;
  }>(
    `select created_at as "createdAt", started_at as "startedAt", null::timestamptz as "endedAt", worker_id as "workerId",
            attempt from jobs where id = $1 and endpoint_id = $2
     union all
     select created_at, started_at, finished_at, worker_id, attempt
     from finished_jobs where id = $1 and endpoint_id = $2 and keep_until > now()`,
    [jobId, endpointId],
  );
  const job = jobs.rows[0];
  if (!job) return null;
  const lost = await db.query<TriedRow>(
    `select attempt, worker_id as "workerId", started_at as "startedAt", lost_at as "lostAt"
     from lost_attempts where job_id = $1 order by attempt`,
    [jobId],
  );
  const attempts: ExplainedAttempt[] = [];
  let from = job.createdAt;
  for (const { attempt, workerId, startedAt, lostAt } of lost.rows) {
    const worker = await findWorker(db, workerId, startedAt);
    attempts.push({ attempt, workerId, stages: explainAttempt({ from, takenAt: startedAt, endedAt: lostAt }, worker) });
    from = lostAt;
  }
  const worker = job.workerId
    ? await findWorker(db, job.workerId, job.startedAt)
    : await findNearestWorker(db, endpointId, job.endedAt);
  const stages = explainAttempt({ from, takenAt: job.startedAt, endedAt: job.endedAt }, worker);
  attempts.push({ attempt: attempts.length + 1, workerId: job.workerId, stages });
  return attempts;
}

const COLUMNS = `
  w.id, w.created_at as "createdAt", w.exited_at as "endedAt", w.timeline, w.wanted_reason as decision,
  w.phase_reason as "phaseReason"`;

/** The worker that took the job at `takenAt`, with the thaw that it went through before, if that was its last. */
async function findWorker(db: Db, id: WorkerId, takenAt: Date | null): Promise<WaitedFor | null> {
  const result = await db.query<WaitedFor>(
    `select ${COLUMNS}, (
       select jsonb_build_object('wantedAt', wanted_at, 'at', f.thawed_at)
       from worker_freezes f cross join lateral (
         select coalesce(f.thaw_wanted_at, w.thaw_wanted_at) as wanted_at -- a thaw that is only just being noted
       ) t
       where f.worker_id = w.id and f.frozen_at <= wanted_at and wanted_at <= $2 order by f.frozen_at desc limit 1) as thaw
     from workers w where w.id = $1`,
    [id, takenAt],
  );
  return result.rows[0] ? withDates(result.rows[0]) : null;
}

/** Of those that may take the job: the one that is thawed or furthest on its way; none when the job is over. */
async function findNearestWorker(db: Db, endpointId: EndpointId, endedAt: Date | null): Promise<WaitedFor | null> {
  if (endedAt !== null) return null;
  const result = await db.query<WaitedFor>(
    `select ${COLUMNS}, case when w.thaw_wanted_at is not null then
         jsonb_build_object('wantedAt', w.thaw_wanted_at,
           'at', case when w.thawed_at >= w.thaw_wanted_at then w.thawed_at end) end as thaw
     from workers w where w.endpoint_id = $1 and w.wanted = 'RUN' and w.phase <> 'EXITED'
     order by w.ready_at, w.started_at, w.phase = 'STARTING' desc, w.created_at limit 1`,
    [endpointId],
  );
  return result.rows[0] ? withDates(result.rows[0]) : null;
}

function withDates(worker: WaitedFor): WaitedFor {
  if (worker.thaw === null) return worker;
  const { wantedAt, at } = worker.thaw;
  return { ...worker, thaw: { wantedAt: new Date(wantedAt), at: at && new Date(at) } };
}
