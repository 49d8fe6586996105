-- What a user may have at most, and what a user is sure to get (docs/decisions/0032-limits-by-user.md). Names are in
-- src/domain/quotas/limits.ts; those without a row are the installation's defaults, and then the built-in ones.
create table user_limits (
  user_id text references users on delete cascade, -- null: the installation's default
  name    text not null,
  value   bigint check (value >= 0),               -- null: unlimited, or no quota
  unique nulls not distinct (user_id, name)
);

-- Payloads of queued jobs, counted in the statements that count the jobs.
alter table endpoint_counters add column queued_bytes bigint not null default 0;
insert into endpoint_counters as k (endpoint_id, lane, queued_bytes)
select endpoint_id, 'folded', sum(octet_length(input) + coalesce(octet_length(extras), 0))
from jobs where status = 'IN_QUEUE' group by endpoint_id
on conflict (endpoint_id, lane) do update set queued_bytes = k.queued_bytes + excluded.queued_bytes;

-- What a user's live workers and their GPUs add up to, from this index alone.
create index workers_by_user on workers (user_id, phase, wanted, gpu_count) where phase <> 'EXITED';

-- Log bytes that were stored for a user on a UTC day. No foreign key: storing a line must not fail.
create table log_usage (
  user_id text not null,
  day     date not null,
  bytes   bigint not null,
  primary key (user_id, day)
) with (fillfactor = 50);
create trigger fence before insert or update or delete on log_usage for each statement
execute function refuse_former_leader();
