-- How a webhook's delivery went, for the page of its job (src/domain/jobs/find-webhook.ts). A job's deliveries are found by
-- the primary key, which now begins with the job: an index of its own would cost each job with a webhook more.
alter table webhook_deliveries add column tries jsonb not null default '[]'; -- [{at, status, error}], the oldest first
alter table webhook_deliveries drop constraint webhook_deliveries_pkey, add primary key (job_id, id);

-- A delivery that has ended. Written by the statement that deletes its row above. created_at: when the job ended.
create table webhook_results (
  job_id       text not null,
  created_at   timestamptz not null,
  is_delivered boolean not null,
  tries        jsonb not null,
  ended_at     timestamptz not null default now(),
  primary key (job_id, created_at)
);
create index webhook_results_by_age on webhook_results using brin (ended_at);
create trigger fence before insert or update or delete on webhook_results for each statement
execute function refuse_former_leader();
