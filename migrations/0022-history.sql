-- Lists of an endpoint's jobs, newest first (src/domain/jobs/list-jobs.ts). No entry of the queue's index is written more than
-- before: it orders a queue by time instead of by number, which also makes the queue's own order exact.

drop index jobs_queue;
create index jobs_queue on jobs (endpoint_id, low_priority, created_at, seq) where status = 'IN_QUEUE';

create index finished_jobs_by_endpoint on finished_jobs (endpoint_id, status, created_at);
create index finished_jobs_by_worker on finished_jobs (worker_id, status, created_at) where worker_id is not null;

-- The past, for charts (docs/decisions/0037-history.md): per minute for a day, per hour for a month ---------------------------------

-- A row for each minute or hour in which an endpoint had jobs, requests, workers or cost, with sums over GPU pools and over the
-- installation. Every column is a sum: of events, or of one sample per minute (queued, in_progress, workers). So an hour is the
-- sum of its minutes, and what is missing is zero. A histogram is an array of `bucket << 32 | count` in ascending order, or null.
create table history (
  kind                 text not null check (kind in ('ENDPOINT', 'POOL', 'INSTALLATION')),
  subject              text not null,          -- the endpoint's id, or the pool's name; empty for the installation
  span                 text not null check (span in ('minute', 'hour')),
  starts_at            timestamptz not null,
  completed            bigint not null default 0,
  failed               bigint not null default 0,
  cancelled            bigint not null default 0,
  timed_out            bigint not null default 0,
  retried              bigint not null default 0,
  requests_1xx         bigint not null default 0,
  requests_2xx         bigint not null default 0,
  requests_3xx         bigint not null default 0,
  requests_4xx         bigint not null default 0,
  requests_5xx         bigint not null default 0,
  cold_starts          bigint not null default 0,
  gpu_seconds          double precision not null default 0,
  amount               double precision not null default 0,  -- USD
  queued               bigint not null default 0,            -- jobs, or held requests
  in_progress          bigint not null default 0,            -- jobs, or requests in flight
  workers_running      bigint not null default 0,
  workers_idle         bigint not null default 0,
  workers_initializing bigint not null default 0,
  workers_throttled    bigint not null default 0,
  workers_unhealthy    bigint not null default 0,
  workers_frozen       bigint not null default 0,
  waits                bigint[],
  executions           bigint[],
  latencies            bigint[],
  start_times          bigint[],
  primary key (kind, subject, span, starts_at)
);
create index history_by_age on history (span, starts_at);

-- What the processes measured since their last report: the leader adds it to the history and deletes it.
create table history_reports (
  endpoint_id  text not null,
  starts_at    timestamptz not null,           -- of the minute
  requests_1xx integer not null,
  requests_2xx integer not null,
  requests_3xx integer not null,
  requests_4xx integer not null,
  requests_5xx integer not null,
  waits        bigint[],
  executions   bigint[],
  latencies    bigint[]
);

-- The counters that the history contains already. They change in the statement that adds the difference.
create table history_marks (
  endpoint_id text primary key,
  completed   bigint not null,
  failed      bigint not null,
  cancelled   bigint not null,
  timed_out   bigint not null,
  retried     bigint not null
) with (fillfactor = 50);
insert into history_marks
select endpoint_id, sum(completed), sum(failed), sum(cancelled), sum(timed_out), sum(retried)
from endpoint_counters group by endpoint_id;

-- The one row says until when each source was read. It moves in the transaction that writes.
create table history_progress (
  is_only       boolean primary key default true check (is_only),
  written_until timestamptz not null,
  usage_until   timestamptz not null,
  hours_until   timestamptz not null
);
insert into history_progress (written_until, usage_until, hours_until)
select date_trunc('minute', now(), 'UTC'), (select metered_until from usage_meter), date_trunc('hour', now(), 'UTC');

create index workers_by_readiness on workers (ready_at) where ready_at is not null;

do $$
declare
  name text;
begin
  foreach name in array array['history', 'history_reports', 'history_marks', 'history_progress'] loop
    execute format(
      'create trigger fence before insert or update or delete on %I for each statement
       execute function refuse_former_leader()',
      name
    );
  end loop;
end
$$;
