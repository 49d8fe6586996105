import { WAIT_WORDS } from '../../../../../src/core/text/wait-words.ts';
import type { Schemas } from '../../../api/client.ts';
import type { LogFilter } from '../../../ui/logs/log-filter.ts';
import { labelOf, rowOf } from '../../../ui/text/labels.ts';
import { isFinal, JOB_STATUSES } from './job-status.ts';

export type JobDetail = Schemas['JobDetail'];
type Stage = JobDetail['attempts'][number]['stages'][number]['stage'];

/** A line of a job's timeline. */
export interface Step {
  label: string;
  /** ISO 8601; null for a step that has no time of its own. */
  at: string | null;
  /** How long it took, so far if `isOpen`. */
  ms: number | null;
  isOpen: boolean;
  detail: string | null;
  workerId: string | null;
  tone: 'plain' | 'good' | 'bad';
}

/** Once it is over. While it lasts, it has the words of the API and the command line. */
const STAGE_ENDS: Record<Stage, string> = {
  queue: 'Waited behind other jobs',
  worker: 'Waited for a worker to be started',
  thaw: 'Thawed a frozen worker',
  capacity: 'A worker waited for capacity',
  models: 'Fetched models',
  pull: 'Pulled the image',
  create: 'Created the container',
  start: 'Started the container',
  ready: 'Loaded the worker',
  running: 'Ran',
};

function openLabel(stage: Stage): string {
  const words = stage === 'running' ? 'running' : WAIT_WORDS[stage];
  return words.charAt(0).toUpperCase() + words.slice(1);
}

const BLANK: Omit<Step, 'label'> = { at: null, ms: null, isOpen: false, detail: null, workerId: null, tone: 'plain' };

/** Returns what happened to a job, in order: submission, what each attempt waited for, runs, the end, the webhook. */
export function stepsOf(job: JobDetail): Step[] {
  return [
    { ...BLANK, label: job.sync ? 'Submitted, and waited for' : 'Submitted', at: job.createdAt },
    ...job.attempts.flatMap((attempt, n) => attemptSteps(attempt, { isLast: n === job.attempts.length - 1 })),
    ...endSteps(job),
    ...webhookSteps(job.webhook),
  ];
}

function attemptSteps({ stages, workerId }: JobDetail['attempts'][number], { isLast }: { isLast: boolean }): Step[] {
  const steps = stages.map((stage): Step => {
    const isOpen = stage.to === null;
    const label = isOpen ? openLabel(stage.stage) : STAGE_ENDS[stage.stage];
    const isRun = stage.stage === 'running';
    return {
      ...{ ...BLANK, label, at: stage.from, ms: stage.ms, isOpen, detail: stage.reason },
      workerId: isRun ? workerId : null,
    };
  });
  if (isLast) return steps;
  const lost: Step = {
    ...BLANK,
    label: 'The worker was lost; queued again',
    at: stages.at(-1)?.to ?? null,
    tone: 'bad',
  };
  return [...steps, lost];
}

function endSteps({ status, finishedAt, outputBytes }: JobDetail): Step[] {
  if (finishedAt === null) return [];
  const label =
    status === 'COMPLETED' && outputBytes !== null ? 'Completed, result stored' : labelOf(JOB_STATUSES, status);
  return [{ ...BLANK, label, at: finishedAt, tone: rowOf(JOB_STATUSES, status)?.end ?? 'plain' }];
}

function webhookSteps(webhook: JobDetail['webhook']): Step[] {
  if (webhook === null) return [];
  const { url, state, tries, nextTryAt } = webhook;
  const steps = tries.map(({ at, status, error }): Step => {
    const label = error === null ? `Webhook accepted (${status})` : 'Webhook failed';
    return { ...BLANK, label, at, detail: error ?? url, tone: error === null ? 'good' : 'bad' };
  });
  if (state === 'PENDING') {
    steps.push({ ...BLANK, label: 'Webhook is delivered', at: nextTryAt, isOpen: true, detail: url });
  } else if (state === 'WAITING') {
    steps.push({ ...BLANK, label: 'Webhook follows at the end', detail: url });
  } else if (state === 'UNKNOWN') {
    steps.push({ ...BLANK, label: 'No record of the webhook', detail: url });
  } else if (state === 'FAILED') {
    steps.push({ ...BLANK, label: `Webhook given up after ${tries.length} tries`, detail: url, tone: 'bad' });
  }
  return steps;
}

/** Returns the interval at which an open job is read again; false for never. Its webhook may be tried after its end. */
export function pollMs(job: JobDetail | undefined): number | false {
  if (job === undefined) return false;
  if (!isFinal(job)) return 1_000;
  return job.webhook?.state === 'PENDING' ? 3_000 : false;
}

/** `it is next`, `12 jobs come first`, `more than 10,000 jobs come first`. */
export function describeAhead(ahead: number): string {
  if (ahead === 0) return 'It is next in the queue.';
  if (ahead >= 10_000) return 'More than 10,000 jobs come first.';
  return ahead === 1 ? '1 job comes first.' : `${new Intl.NumberFormat().format(ahead)} jobs come first.`;
}

/** Clocks of machines differ, and a worker's last lines may come after its result. */
const MARGIN_MS = 1_000;

/** Returns the worker and the time of a job's log lines. A job that no worker took has none yet: those from now on. */
export function jobFilter(job: {
  workerId: string | null;
  startedAt: string | null;
  finishedAt: string | null;
}): Pick<LogFilter, 'workerId' | 'range' | 'since' | 'until'> {
  const around = (time: string | null, ms: number) => time && new Date(Date.parse(time) + ms).toISOString();
  return {
    workerId: job.workerId,
    range: null,
    since: around(job.startedAt, -MARGIN_MS),
    until: around(job.finishedAt, MARGIN_MS),
  };
}
