/** SQL of the jobs that a worker (`workers w`) holds, as expressions of a select list. */

/** How many jobs it was told to stop and may still run. They have ended for everybody else. */
export const STOPPING_OF_WORKER = `(
  select count(*) from job_stops s where s.worker_id = w.id and s.obeyed_at is null)`;

/** How many jobs keep it busy: those that it has leased, and those that it was told to stop. */
export const JOBS_OF_WORKER = `(
  (select count(*) from jobs j where j.worker_id = w.id and j.status = 'IN_PROGRESS') + ${STOPPING_OF_WORKER})`;
