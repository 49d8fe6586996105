import { parseSize } from './parse-setting.ts';
import { integer, readSettings, type SettingInfo, seconds, setting, type ValuesOf } from './setting.ts';

const DAY_SECONDS = 86_400;

/** A size of messages and log lines, in bytes. */
function bytes(info: SettingInfo<never> & { default: number }) {
  return integer({ min: 1024, max: 2 ** 30, ...info });
}

/** How many bytes of log lines are stored a second (control/workloads/log-gate.ts). */
const LOG_RATES = {
  workloadBytes: bytes({
    variable: 'PODYARD_LOG_WORKLOAD_BYTES',
    default: 256 * 2 ** 10,
    shownDefault: '262144 (256 KiB)',
    page: 'Log bytes that a worker or pod may have stored a second; a burst may be 16 times that',
  }),
  endpointBytes: bytes({
    variable: 'PODYARD_LOG_ENDPOINT_BYTES',
    default: 2 ** 20,
    shownDefault: '1048576 (1 MiB)',
    page: 'The same for all workers of an endpoint together',
  }),
};

export type LogRates = ValuesOf<typeof LOG_RATES>;

export const DEFAULT_LOG_RATES: LogRates = readSettings(LOG_RATES, {}, {});

export const JOB_LIMITS = {
  /** Within their size. */
  logRetentionMs: seconds({
    variable: 'PODYARD_LOG_RETENTION_SECONDS',
    flag: 'logRetentionSeconds',
    takes: '<number>',
    default: 30 * DAY_SECONDS,
    max: 3_650 * DAY_SECONDS,
    page: 'How long [log lines](interface/logs.md#retention) of workers and pods are kept, within their size; 2592000 are 30 days',
    help: 'how long log lines of workers and pods are kept',
    chart: { value: 'logs.retentionDays', as: 'template' },
  }),
  /** The size limit of all log lines on disk, with their indexes. */
  logBytes: setting({
    variable: 'PODYARD_LOG_SIZE',
    flag: 'logSize',
    takes: '<size>',
    default: '2GiB',
    parse: (name, text) => parseSize(name, text, { min: 64 * 2 ** 20 }),
    page: 'What they may take on disk, with indexes, at least 64MiB; the oldest go first',
    help: 'what they may take on disk; the oldest go first',
    chart: { value: 'logs.size', as: 'text' },
  }),
  runBodyBytes: bytes({
    variable: 'PODYARD_RUN_BODY_BYTES',
    default: 10 * 2 ** 20,
    shownDefault: '10 MiB',
    page: 'Maximum body of `run`',
  }),
  runsyncBodyBytes: bytes({
    variable: 'PODYARD_RUNSYNC_BODY_BYTES',
    default: 20 * 2 ** 20,
    shownDefault: '20 MiB',
    page: 'Maximum body of `runsync`',
  }),
  resultBytes: bytes({
    variable: 'PODYARD_RESULT_BYTES',
    default: 20 * 2 ** 20,
    shownDefault: '20 MiB',
    page: 'Maximum result of a worker',
  }),
  /** Memory that the request bodies of one process may take together (dataplane/body-budget.ts). */
  bodyBudgetBytes: integer({
    variable: 'PODYARD_BODY_BUDGET_BYTES',
    min: 16 * 2 ** 20,
    max: 2 ** 40,
    default: 256 * 2 ** 20,
    shownDefault: '256 MiB',
    page: 'Memory for [request bodies](operations.md#memory-for-request-bodies), per process',
  }),
  bodyWaitMs: seconds({
    variable: 'PODYARD_BODY_WAIT_SECONDS',
    default: 60,
    page: 'How long a request waits, unread, for [memory for its body](operations.md#memory-for-request-bodies) while none that waits gets any',
  }),
  resultRetentionMs: seconds({
    variable: 'PODYARD_RESULT_RETENTION_SECONDS',
    default: 1800,
    page: 'Retention of results of `run`',
  }),
  syncResultRetentionMs: seconds({
    variable: 'PODYARD_SYNC_RESULT_RETENTION_SECONDS',
    default: 300,
    page: 'Retention of results of `runsync`',
  }),
  batchRetentionMs: seconds({
    variable: 'PODYARD_BATCH_RETENTION_SECONDS',
    default: 7 * DAY_SECONDS,
    page: 'Retention of ended batches with their results, and of drafts that nothing is added to',
  }),
  endedRetentionMs: seconds({
    variable: 'PODYARD_ENDED_RETENTION_SECONDS',
    default: DAY_SECONDS,
    page: 'Retention of the records of ended workers and pods',
  }),
  logRates: LOG_RATES,
  /** docs/interface/worker-api.md, "Leases" */
  leaseMs: seconds({
    variable: 'PODYARD_LEASE_SECONDS',
    default: 40,
    page: 'A worker without a heartbeat for this long loses its jobs',
  }),
  takeHoldMs: seconds({
    variable: 'PODYARD_TAKE_HOLD_SECONDS',
    default: 30,
    page: "How long a worker's request for a job is held open",
  }),
  graceMs: seconds({
    variable: 'PODYARD_GRACE_SECONDS',
    default: 30,
    page: 'How long a stopping worker may keep running its jobs',
  }),
  jobStopMs: seconds({
    variable: 'PODYARD_JOB_STOP_SECONDS',
    default: 5,
    page: 'How long a worker may keep running a job that was cancelled or timed out; then it is replaced',
  }),
};

export type JobLimits = ValuesOf<typeof JOB_LIMITS>;

/** A request's body; 0: unlimited. */
function maxBody(info: SettingInfo<never>) {
  return integer({ min: 0, max: 2 ** 53, default: 0, shownDefault: 'any', ...info });
}

/** Requests to load-balancing endpoints. */
export const LOAD_BALANCING_LIMITS = {
  holdMs: seconds({
    variable: 'PODYARD_LB_HOLD_SECONDS',
    default: 120,
    page: 'How long a load-balanced request may wait for a worker',
  }),
  maxHeld: integer({
    variable: 'PODYARD_LB_HELD',
    min: 0,
    max: 1_000_000,
    default: 1000,
    page: 'Requests of an endpoint that may wait, over all processes; more are refused',
  }),
  concurrency: integer({
    variable: 'PODYARD_LB_CONCURRENCY',
    min: 1,
    max: 1_000_000,
    default: 1000,
    page: 'Requests that a worker handles at once, over all processes, unless the endpoint sets it',
  }),
  bodyBytes: maxBody({ variable: 'PODYARD_LB_BODY_BYTES', page: 'Maximum body of a load-balanced request' }),
  drainMs: seconds({
    variable: 'PODYARD_LB_DRAIN_SECONDS',
    default: 300,
    page: 'How long a draining load-balancing worker may finish its requests',
  }),
};

export type LoadBalancingLimits = ValuesOf<typeof LOAD_BALANCING_LIMITS>;

/** Requests to the HTTP ports of pods. */
export const POD_PROXY_LIMITS = {
  answerMs: seconds({
    variable: 'PODYARD_PROXY_ANSWER_SECONDS',
    default: 600,
    page: 'How long a pod may take to begin its response; 0: unlimited',
  }),
  bodyBytes: maxBody({ variable: 'PODYARD_PROXY_BODY_BYTES', page: 'Maximum body of a request to a pod' }),
};

/** Programs that users run in pods and workers. */
export const TERMINAL_LIMITS = {
  perUser: integer({
    variable: 'PODYARD_TERMINALS_PER_USER',
    min: 1,
    max: 1000,
    default: 20,
    page: 'Terminal sessions that a user may have open, over all servers',
  }),
  perProcess: integer({
    variable: 'PODYARD_TERMINALS',
    min: 1,
    max: 10_000,
    default: 200,
    page: 'Terminal sessions at a server process',
  }),
  idleMs: seconds({
    variable: 'PODYARD_TERMINAL_IDLE_SECONDS',
    default: 1800,
    page: 'A session in which nothing was sent either way for this long is ended',
  }),
};

export type TerminalLimits = ValuesOf<typeof TERMINAL_LIMITS>;
