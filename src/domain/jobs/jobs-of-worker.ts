/** SQL of the jobs that a worker (`workers w`) holds. */

/** For a `from` clause: jobs that the worker was ordered to stop and may still run. Their state is final already. */
export const STOPS_OF_WORKER = '(select * from job_stops s where s.worker_id = w.id and s.obeyed_at is null) s';

export const STOPPING_OF_WORKER = `(select count(*) from ${STOPS_OF_WORKER})`;

export const LEASED_BY_WORKER = `(
  select count(*) from jobs j where j.worker_id = w.id and j.status = 'IN_PROGRESS')`;

/** How many jobs keep it busy. */
export const JOBS_OF_WORKER = `(${LEASED_BY_WORKER} + ${STOPPING_OF_WORKER})`;
