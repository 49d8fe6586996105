-- Batches: up to a million requests that run when no interactive job waits (docs/decisions/0043-batches.md). No foreign keys
-- lead to an endpoint or a batch: deleting a million rows would hold up the deletion. The housekeeping deletes them in slices.
create table batches (
  id            text primary key,
  endpoint_id   text not null,
  user_id       text not null,
  name          text,
  status        text not null default 'DRAFT' check (status in ('DRAFT', 'FINALIZED', 'COMPLETED', 'FAILED', 'CANCELLED')),
  is_ordered    boolean not null default true,
  is_paused     boolean not null default false,
  webhook       text,
  received      bigint not null default 0,     -- lines or array elements, whether accepted or not; the last number given
  accepted      bigint not null default 0,     -- requests it has
  rejected      bigint not null default 0,
  rejections    jsonb not null default '[]',   -- [{line, reason}], the first ones
  bytes         bigint not null default 0,     -- of its requests
  fed_to        bigint not null default 0,     -- how far the requests have become jobs, in the order in which they do
  fed           bigint not null default 0,     -- how many did
  reason        text,                          -- what it waits for, or why it ended
  estimate      jsonb,                         -- {requests, executionMs, usdPerHour}: measured once, when the first hundred had ended
  created_at    timestamptz not null default now(),
  changed_at    timestamptz not null default now(),
  finalized_at  timestamptz,
  cancelled_at  timestamptz,                   -- the request to cancel; it ends when its running jobs have
  ended_at      timestamptz,
  keep_until    timestamptz
) with (fillfactor = 50);
create index batches_by_endpoint on batches (endpoint_id, created_at, id);
create index batches_running on batches (endpoint_id) where status = 'FINALIZED';

create table batch_requests (
  batch_id             text not null,
  number               bigint not null,        -- of the line or array element, from 1
  input                text not null,
  extras               text,
  webhook              text,
  execution_timeout_ms bigint,
  ttl_ms               bigint,                 -- null: none
  primary key (batch_id, number)
) with (toast_tuple_target = 8160);

-- Written by the statement that ends the job.
create table batch_results (
  batch_id    text not null,
  number      bigint not null,
  status      text not null,
  output      text,
  error       text,
  worker_id   text,
  attempt     integer not null,
  created_at  timestamptz not null,
  started_at  timestamptz,
  finished_at timestamptz not null,
  primary key (batch_id, number)
) with (toast_tuple_target = 8160);

-- As endpoint_counters: a row for each lane of each process.
create table batch_counters (
  batch_id     text not null,
  lane         text not null,
  completed    bigint not null default 0,
  failed       bigint not null default 0,
  cancelled    bigint not null default 0,
  timed_out    bigint not null default 0,
  executed     bigint not null default 0,      -- of these, those that a worker took
  execution_ms double precision not null default 0,
  primary key (batch_id, lane)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05);

-- Batches that are gone, with rows left.
create table batch_removals (
  batch_id text primary key
);

alter table jobs add column batch_id text, add column batch_number bigint;
create index jobs_of_batch on jobs (batch_id, status) where batch_id is not null;

-- The end of a batch. Null: of a job.
alter table webhook_deliveries add column batch_id text;

do $$
declare
  name text;
begin
  foreach name in array array['batches', 'batch_requests', 'batch_results', 'batch_counters', 'batch_removals'] loop
    execute format(
      'create trigger fence before insert or update or delete on %I for each statement
       execute function refuse_former_leader()',
      name
    );
  end loop;
end
$$;
