/** The properties by which the states of a job differ. */
interface JobState {
  /** Null until the job has ended. */
  readonly end: {
    /** The column that counts ends in this state, of endpoints, batches and the history; responses have it in camel case. */
    readonly counter: string;
    readonly field: string;
    /** True when the job ended without a result and was not cancelled: it has an error, and counts as failed in totals. */
    readonly isFailure: boolean;
  } | null;
}

/**
 * The states of a job (docs/states.md). All interfaces, metrics and logs use the same words. A new state is a row here: SQL,
 * counters and metrics follow, and what cannot does not compile (docs/checklists/add-a-job-state.md).
 */
export const JOB_STATES = {
  IN_QUEUE: { end: null },
  IN_PROGRESS: { end: null },
  COMPLETED: { end: { counter: 'completed', field: 'completed', isFailure: false } },
  FAILED: { end: { counter: 'failed', field: 'failed', isFailure: true } },
  CANCELLED: { end: { counter: 'cancelled', field: 'cancelled', isFailure: false } },
  TIMED_OUT: { end: { counter: 'timed_out', field: 'timedOut', isFailure: true } },
} as const satisfies Record<string, JobState>;

type States = typeof JOB_STATES;
export type JobStatus = keyof States;
/** A state that a job never leaves, but by a retry. */
export type JobEnd = { [S in JobStatus]: States[S]['end'] extends null ? never : S }[JobStatus];
type End = NonNullable<States[JobStatus]['end']>;
export type EndCounter = End['counter'];
/** The name of an end's counter in responses. */
export type EndField = End['field'];

export const JOB_STATUSES = Object.keys(JOB_STATES) as JobStatus[];
export const JOB_ENDS = JOB_STATUSES.filter((status): status is JobEnd => JOB_STATES[status].end !== null);
/** Jobs that ended so have an error, and may run again under their id. */
export const FAILED_ENDS = JOB_ENDS.filter((status) => JOB_STATES[status].end.isFailure);
export const END_COUNTERS = JOB_ENDS.map((status) => JOB_STATES[status].end.counter);
/** SQL that adds up the failures in a row of counters. */
export const FAILURE_SUM = FAILED_ENDS.map((status) => JOB_STATES[status].end.counter).join(' + ');

/** True when a job in this state has ended. An unknown state, of a later version, has not. */
export function hasEnded(status: string): status is JobEnd {
  return (JOB_ENDS as string[]).includes(status);
}

/** True when the job ended without a result and was not cancelled. */
export function hasFailed(status: JobStatus): boolean {
  return JOB_STATES[status].end?.isFailure === true;
}

/** SQL that counts rows by the state in which their job ends, by counter. `column`: where the state is. */
export function countEnds(column: string, count: (where: string) => string): Record<EndCounter, string> {
  return Object.fromEntries(
    JOB_ENDS.map((status) => [JOB_STATES[status].end.counter, count(`${column} = '${status}'`)]),
  ) as Record<EndCounter, string>;
}
