-- Lists of an endpoint's jobs, newest first (src/domain/jobs/list-jobs.ts). No entry of the queue's index is written more than
-- before: it orders a queue by time instead of by number, which also makes the queue's own order exact.

drop index jobs_queue;
create index jobs_queue on jobs (endpoint_id, low_priority, created_at, seq) where status = 'IN_QUEUE';

create index finished_jobs_by_endpoint on finished_jobs (endpoint_id, status, created_at);
create index finished_jobs_by_worker on finished_jobs (worker_id, status, created_at) where worker_id is not null;
