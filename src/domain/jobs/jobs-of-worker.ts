/** SQL of the jobs that a worker (`workers w`) holds. */

/** For a `from` clause: the jobs that it was told to stop and may still run. They have ended for everybody else. */
export const STOPS_OF_WORKER = '(select * from job_stops s where s.worker_id = w.id and s.obeyed_at is null) s';

export const STOPPING_OF_WORKER = `(select count(*) from ${STOPS_OF_WORKER})`;

export const LEASED_BY_WORKER = `(
  select count(*) from jobs j where j.worker_id = w.id and j.status = 'IN_PROGRESS')`;

/** How many jobs keep it busy. */
export const JOBS_OF_WORKER = `(${LEASED_BY_WORKER} + ${STOPPING_OF_WORKER})`;
