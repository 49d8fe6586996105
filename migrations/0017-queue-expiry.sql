-- rollback-safe: older versions run on this schema; they only expire jobs more slowly.

-- Queued jobs in the order in which they expire. The index before this one held only jobs with a policy.ttl; those with the
-- default were searched for along the queue, which means all of it when the jobs in front have a policy.ttl. A queued job has
-- no worker: a condition other than that of jobs_queue, so that no plan takes one index for the other.
create index jobs_expiry on jobs (expires_at) where worker_id is null;
drop index jobs_own_ttl;
