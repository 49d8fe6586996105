import type { EndpointId, JobId, WorkerId } from '../../core/ids.ts';
import { WAIT_WORDS } from '../../core/text/wait-words.ts';
import type { Db } from '../../db/pool.ts';
import { ENDPOINT_STATES, type EndpointState } from '../endpoints/endpoint-state.ts';
import { findLastFailure } from '../workers/explain-waiting.ts';
import { STOPPING_A_JOB } from '../workers/worker-status.ts';
import { STAGES, type TimelineMarks, workerStages } from '../workers/worker-timeline.ts';
import { STOPPING_OF_WORKER } from './jobs-of-worker.ts';

/**
 * The stages of a job: its waits, then its run. `queue`: other jobs came first. `worker`: no worker was starting or thawing yet. `thaw`
 * and the stages of a worker's start: a worker was on its way.
 */
export const WAIT_STAGES = ['queue', 'worker', 'thaw', 'models', ...STAGES, 'running'] as const;
export type WaitStage = (typeof WAIT_STAGES)[number];

export interface ExplainedStage {
  stage: WaitStage;
  from: Date;
  /** Null while in progress. */
  to: Date | null;
  /** One sentence, if there is more to report than the stage. */
  reason: string | null;
}

/** An attempt, from when the job could be taken to the end of its run. */
export interface ExplainedAttempt {
  attempt: number;
  workerId: WorkerId | null;
  stages: ExplainedStage[];
}

/** The worker that took a job or, before that, the one closest to taking it. */
export interface WaitedFor {
  id: WorkerId;
  createdAt: Date;
  endedAt: Date | null;
  timeline: TimelineMarks;
  /** Why it was started or thawed. */
  decision: string;
  phaseReason: string | null;
  /** Why it was lost; null if it was not. */
  failure: string | null;
  /** It may still run a job that it was ordered to stop, and gets no other. */
  isStoppingJob: boolean;
  /** The last thaw before the job was taken, or the one in progress. */
  thaw: { wantedAt: Date; at: Date | null } | null;
}

/**
 * Splits an attempt into stages without gaps. `to` null: it still waits or runs. The worker's times decide: a job submitted
 * while a worker was loading waited only for the rest of the loading. `lastFailure`: why there may be no worker.
 */
export function explainAttempt(
  wait: { from: Date; takenAt: Date | null; endedAt: Date | null },
  worker: WaitedFor | null,
  lastFailure: string | null = null,
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
  if (worker === null) add('worker', Number.POSITIVE_INFINITY, lastFailure);
  else add('queue', Number.POSITIVE_INFINITY, until === null ? whyBusy(worker) : null);
  if (wait.takenAt !== null) {
    cut.push({ stage: 'running', from: wait.takenAt, to: wait.endedAt, reason: lossDuring(wait.endedAt, worker) });
  }
  return cut;
}

function whyBusy({ id, isStoppingJob }: WaitedFor): string | null {
  return isStoppingJob ? `worker ${id} is ${STOPPING_A_JOB}` : null;
}

/** Returns why the worker was lost, if that ended the attempt; it may also have been lost after the job. */
function lossDuring(endedAt: Date | null, worker: WaitedFor | null): string | null {
  if (!worker?.endedAt || endedAt === null || worker.endedAt > endedAt) return null;
  return worker.failure;
}

/** Returns the stages until the worker takes work: a thaw, or its start. */
function onTheWay(worker: WaitedFor): ExplainedStage[] {
  if (worker.thaw !== null) {
    const { wantedAt, at } = worker.thaw;
    return [
      {
        stage: 'thaw',
        from: wantedAt,
        to: at,
        reason: at === null ? (worker.phaseReason ?? worker.decision) : worker.decision,
      },
    ];
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

/** Explains what a job waited for, attempt by attempt; null if there is no such job. Several statements: not a hot path. */
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
  const isWaiting = worker === null && job.endedAt === null;
  const lastFailure = isWaiting ? await findLastFailure(db, endpointId) : null;
  const wait = { from, takenAt: job.startedAt, endedAt: job.endedAt };
  const stages = explainAttempt(wait, worker, lastFailure && `the last start failed: ${lastFailure}`);
  attempts.push({ attempt: attempts.length + 1, workerId: job.workerId, stages });
  return attempts;
}

const COLUMNS = `
  w.id, w.created_at as "createdAt", w.exited_at as "endedAt", w.timeline, w.wanted_reason as decision,
  w.phase_reason as "phaseReason", case when w.is_lost and w.phase = 'EXITED' then w.phase_reason end as failure,
  ${STOPPING_OF_WORKER} > 0 and w.phase <> 'EXITED' as "isStoppingJob"`;

/** Finds the worker that took the job at `takenAt`, with its last thaw before that. */
async function findWorker(db: Db, id: WorkerId, takenAt: Date | null): Promise<WaitedFor | null> {
  const result = await db.query<WaitedFor>(
    `select ${COLUMNS}, (
       select jsonb_build_object('wantedAt', wanted_at, 'at', f.thawed_at)
       from worker_freezes f cross join lateral (
         select coalesce(f.thaw_wanted_at, w.thaw_wanted_at) as wanted_at -- a thaw that is being stored
       ) t
       where f.worker_id = w.id and f.frozen_at <= wanted_at and wanted_at <= $2 order by f.frozen_at desc limit 1) as thaw
     from workers w where w.id = $1`,
    [id, takenAt],
  );
  return result.rows[0] ? withDates(result.rows[0]) : null;
}

/** Finds the worker closest to taking the job: thawed, or furthest in its start. None if the job has ended. */
async function findNearestWorker(db: Db, endpointId: EndpointId, endedAt: Date | null): Promise<WaitedFor | null> {
  if (endedAt !== null) return null;
  const result = await db.query<WaitedFor>(
    `select ${COLUMNS}, case when w.thaw_wanted_at is not null then
         jsonb_build_object('wantedAt', w.thaw_wanted_at,
           'at', case when w.thawed_at >= w.thaw_wanted_at then w.thawed_at end) end as thaw
     from workers w where w.endpoint_id = $1 and w.wanted = 'RUN' and w.phase <> 'EXITED'
     order by "isStoppingJob", w.ready_at, w.started_at, w.phase = 'STARTING' desc, w.created_at limit 1`,
    [endpointId],
  );
  return result.rows[0] ? withDates(result.rows[0]) : null;
}

function withDates(worker: WaitedFor): WaitedFor {
  if (worker.thaw === null) return worker;
  const { wantedAt, at } = worker.thaw;
  return { ...worker, thaw: { wantedAt: new Date(wantedAt), at: at && new Date(at) } };
}

/**
 * Why a queued job is not running: a state of its endpoint that keeps it from running; `LOW_PRIORITY`, because such jobs start
 * no worker; or `BUSY`, because the workers have other jobs.
 */
export const WAIT_REASONS = [
  ...ENDPOINT_STATES.filter((state) => state !== 'HEALTHY' && state !== 'SCALED_TO_ZERO' && state !== 'ROLLING_OUT'),
  'LOW_PRIORITY',
  'BUSY',
] as const;
type WaitReason =
  | Exclude<EndpointState['state'], 'HEALTHY' | 'SCALED_TO_ZERO' | 'ROLLING_OUT'>
  | 'LOW_PRIORITY'
  | 'BUSY';

export interface JobWait {
  reason: WaitReason;
  /** A sentence without capital and full stop; of a failure with the last lines of output. */
  text: string;
  /** Jobs that come first, at most MAX_AHEAD. */
  ahead: number;
}

/** Says why a queued job waits. `stage`: what it waits for now (`explainAttempt`). Pure. */
export function explainWait(
  endpoint: Pick<EndpointState, 'state' | 'reason'>,
  job: { isLowPriority: boolean; ahead: number },
  stage: ExplainedStage | undefined,
): JobWait {
  const { ahead } = job;
  const { state, reason } = endpoint;
  switch (state) {
    case 'PAUSED':
      // A paused roll-out leaves workers running, and they take jobs.
      if (stage?.stage === 'queue') return { reason: 'BUSY', text: busy(ahead, stage), ahead };
      return { reason: 'PAUSED', text: reason ?? 'the endpoint is paused', ahead };
    case 'FAILING':
      return { reason: 'FAILING', text: reason ?? 'its workers fail', ahead };
    case 'WAITING_FOR_CAPACITY':
      return { reason: 'WAITING_FOR_CAPACITY', text: reason ?? 'no worker has a place', ahead };
    case 'STARTING':
    case 'SCALED_TO_ZERO':
      if (job.isLowPriority && (stage === undefined || stage.stage === 'worker')) {
        return {
          reason: 'LOW_PRIORITY',
          text: 'a low-priority job starts no worker; it runs when one is there',
          ahead,
        };
      }
      return { reason: 'STARTING', text: stage?.reason ?? wordsOf(stage), ahead };
    default:
      return { reason: 'BUSY', text: busy(ahead, stage), ahead };
  }
}

function wordsOf(stage: ExplainedStage | undefined): string {
  const words: Partial<Record<string, string>> = WAIT_WORDS;
  return (stage && words[stage.stage]) ?? WAIT_WORDS.worker;
}

function busy(ahead: number, stage: ExplainedStage | undefined): string {
  const text =
    ahead === 0 ? 'it is the next one; every worker is busy' : 'every worker is busy, and other jobs come first';
  return stage?.stage === 'queue' && stage.reason !== null ? `${text}; ${stage.reason}` : text;
}
