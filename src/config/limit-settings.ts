import { integerVariable, parseInteger, parseSize, secondsVariable } from './parse-setting.ts';

/** Limits that an operator can set, by environment variables alone. */

export interface JobLimits {
  runBodyBytes: number;
  runsyncBodyBytes: number;
  resultBytes: number;
  /** Memory that the request bodies of one process may take together (dataplane/body-budget.ts). */
  bodyBudgetBytes: number;
  /** How long a body may wait, unread, for memory. */
  bodyWaitMs: number;
  resultRetentionMs: number;
  syncResultRetentionMs: number;
  /** How long an ended batch is kept with its results, and a draft that nothing is added to. */
  batchRetentionMs: number;
  /** How long log lines are kept, within their size. */
  logRetentionMs: number;
  /** The size limit of all log lines on disk, with their indexes; the oldest are removed first. */
  logBytes: number;
  /** How long the records of ended workers and pods are kept. */
  endedRetentionMs: number;
  logRates: LogRates;
  /** A worker without a heartbeat for this long loses its jobs (docs/interface/worker-api.md, "Leases"). */
  leaseMs: number;
  /** How long a worker's request for a job is held open. */
  takeHoldMs: number;
  /** How long a stopping worker may keep running its jobs. */
  graceMs: number;
  /** How long a worker may keep running a job that it was told to stop. */
  jobStopMs: number;
}

/** Flags about logs. */
export interface LogFlags {
  logRetentionSeconds?: string;
  logSize?: string;
}

/** How many bytes of log lines are stored a second (control/workloads/log-gate.ts). */
export interface LogRates {
  /** Of each worker and pod. */
  workloadBytes: number;
  /** Of all workers of an endpoint together. */
  endpointBytes: number;
}

export const DEFAULT_LOG_RATES: LogRates = { workloadBytes: 256 * 2 ** 10, endpointBytes: 2 ** 20 };

/** Limits of requests to load-balancing endpoints. */
export interface LoadBalancingLimits {
  /** How long a request may wait for a worker. */
  holdMs: number;
  /** Requests of one endpoint that may wait; more are refused. */
  maxHeld: number;
  /** Default for the requests that a worker handles at once. */
  concurrency: number;
  /** Maximum request body; 0: unlimited. */
  bodyBytes: number;
  /** How long a draining worker may finish its requests. */
  drainMs: number;
}

/** Limits of requests to the HTTP ports of pods. */
export interface PodProxyLimits {
  /** Time until the response begins; 0: unlimited. */
  answerMs: number;
  /** Maximum request body; 0: unlimited. */
  bodyBytes: number;
}

/** Limits of programs that users run in pods and workers. */
export interface TerminalLimits {
  /** Open sessions of a user, over all servers. */
  perUser: number;
  /** Open sessions of a process. */
  perProcess: number;
  /** A session ends when nothing was sent either way for this long. */
  idleMs: number;
}

const DAY_SECONDS = 86_400;
const MAX_RETENTION_SECONDS = 3_650 * DAY_SECONDS;

export function readJobLimits(flags: LogFlags, env: NodeJS.ProcessEnv): JobLimits {
  const body = { min: 1024, max: 2 ** 30 };
  return {
    runBodyBytes: integerVariable(env, 'PODYARD_RUN_BODY_BYTES', { ...body, fallback: 10 * 2 ** 20 }),
    runsyncBodyBytes: integerVariable(env, 'PODYARD_RUNSYNC_BODY_BYTES', { ...body, fallback: 20 * 2 ** 20 }),
    resultBytes: integerVariable(env, 'PODYARD_RESULT_BYTES', { ...body, fallback: 20 * 2 ** 20 }),
    bodyBudgetBytes: integerVariable(env, 'PODYARD_BODY_BUDGET_BYTES', {
      ...{ min: 16 * 2 ** 20, max: 2 ** 40 },
      fallback: 256 * 2 ** 20,
    }),
    bodyWaitMs: secondsVariable(env, 'PODYARD_BODY_WAIT_SECONDS', 60),
    resultRetentionMs: secondsVariable(env, 'PODYARD_RESULT_RETENTION_SECONDS', 1800),
    syncResultRetentionMs: secondsVariable(env, 'PODYARD_SYNC_RESULT_RETENTION_SECONDS', 300),
    batchRetentionMs: secondsVariable(env, 'PODYARD_BATCH_RETENTION_SECONDS', 604_800),
    ...readLogRetention(flags, env),
    endedRetentionMs: secondsVariable(env, 'PODYARD_ENDED_RETENTION_SECONDS', DAY_SECONDS),
    logRates: {
      workloadBytes: integerVariable(env, 'PODYARD_LOG_WORKLOAD_BYTES', {
        ...body,
        fallback: DEFAULT_LOG_RATES.workloadBytes,
      }),
      endpointBytes: integerVariable(env, 'PODYARD_LOG_ENDPOINT_BYTES', {
        ...body,
        fallback: DEFAULT_LOG_RATES.endpointBytes,
      }),
    },
    leaseMs: secondsVariable(env, 'PODYARD_LEASE_SECONDS', 40),
    takeHoldMs: secondsVariable(env, 'PODYARD_TAKE_HOLD_SECONDS', 30),
    graceMs: secondsVariable(env, 'PODYARD_GRACE_SECONDS', 30),
    jobStopMs: secondsVariable(env, 'PODYARD_JOB_STOP_SECONDS', 5),
  };
}

function readLogRetention(flags: LogFlags, env: NodeJS.ProcessEnv): Pick<JobLimits, 'logRetentionMs' | 'logBytes'> {
  const seconds = flags.logRetentionSeconds ?? env.PODYARD_LOG_RETENTION_SECONDS;
  const range = { min: 0, max: MAX_RETENTION_SECONDS, fallback: 30 * DAY_SECONDS };
  const size = flags.logSize ?? (env.PODYARD_LOG_SIZE || '2GiB');
  return {
    logRetentionMs: parseInteger('--log-retention-seconds', seconds, range) * 1000,
    logBytes: parseSize('--log-size', size, { min: 64 * 2 ** 20 }),
  };
}

export function readLoadBalancingLimits(env: NodeJS.ProcessEnv): LoadBalancingLimits {
  return {
    holdMs: secondsVariable(env, 'PODYARD_LB_HOLD_SECONDS', 120),
    maxHeld: integerVariable(env, 'PODYARD_LB_HELD', { min: 0, max: 1_000_000, fallback: 1000 }),
    concurrency: integerVariable(env, 'PODYARD_LB_CONCURRENCY', { min: 1, max: 1_000_000, fallback: 1000 }),
    bodyBytes: integerVariable(env, 'PODYARD_LB_BODY_BYTES', { min: 0, max: 2 ** 53, fallback: 0 }),
    drainMs: secondsVariable(env, 'PODYARD_LB_DRAIN_SECONDS', 300),
  };
}

export function readPodProxyLimits(env: NodeJS.ProcessEnv): PodProxyLimits {
  return {
    answerMs: secondsVariable(env, 'PODYARD_PROXY_ANSWER_SECONDS', 600),
    bodyBytes: integerVariable(env, 'PODYARD_PROXY_BODY_BYTES', { min: 0, max: 2 ** 53, fallback: 0 }),
  };
}

/** Null when the environment disables terminals. */
export function readTerminalLimits(env: NodeJS.ProcessEnv): TerminalLimits | null {
  if (env.PODYARD_TERMINAL === 'false') return null;
  return {
    perUser: integerVariable(env, 'PODYARD_TERMINALS_PER_USER', { min: 1, max: 1000, fallback: 20 }),
    perProcess: integerVariable(env, 'PODYARD_TERMINALS', { min: 1, max: 10_000, fallback: 200 }),
    idleMs: secondsVariable(env, 'PODYARD_TERMINAL_IDLE_SECONDS', 1800),
  };
}
