-- Since when the worker is known to have let go of the job; null while it may still run it, which makes the worker busy
-- (docs/decisions/0078-stopped-jobs.md).
alter table job_stops add column obeyed_at timestamptz;
-- Orders of before: the worker has asked for work, or is judged anew.
update job_stops set obeyed_at = now();

-- Takes were what obedience was inferred from.
alter table worker_activity drop column asked_at;
