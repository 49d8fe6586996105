-- Users and keys -----------------------------------------------------------------------------------------------------

create table users (
  id          text primary key,
  name        text not null unique,
  email       text,
  created_at  timestamptz not null default now()
);

create table api_keys (
  id          text primary key,
  user_id     text not null references users on delete cascade,
  name        text not null,
  secret_hash bytea not null unique,           -- SHA-256 of the key; the key itself is kept nowhere
  scopes      text[] not null,                 -- the grammar is in src/domain/access/scopes.ts
  created_at  timestamptz not null default now(),
  expires_at  timestamptz,
  revoked_at  timestamptz
);
create index api_keys_by_user on api_keys (user_id, created_at);

-- Endpoints: what is wanted ------------------------------------------------------------------------------------------

create table endpoints (
  id                 text primary key,
  user_id            text not null references users,
  name               text not null,
  type               text not null check (type in ('QUEUE_BASED', 'LOAD_BALANCING')),
  image              text not null,
  args               text not null,
  disk_gb            integer not null,
  ports              text[] not null,
  env                jsonb not null,
  registry_id        text,
  gpu_pools          text[],                   -- null for a CPU endpoint
  gpu_count          integer,
  cpu                jsonb,                    -- {id, vcpuCount, memory}; null for a GPU endpoint
  workers_min        integer not null,
  workers_max        integer not null,
  scaler_type        text not null check (scaler_type in ('QUEUE_DELAY', 'REQUEST_COUNT')),
  scaler_value       double precision not null,
  idle_timeout_s     bigint not null,
  data_center_ids    text[] not null,
  network_volume_ids text[] not null,
  timeout_ms         bigint not null,          -- 0: none
  flashboot          text not null check (flashboot in ('OFF', 'FLASHBOOT', 'PRIORITY_FLASHBOOT')),
  template_id        text,
  version            integer not null,         -- of the newest release
  created_at         timestamptz not null default now()
);
create index endpoints_by_user on endpoints (user_id, created_at, id);

create table releases (
  id            text primary key,
  endpoint_id   text not null references endpoints on delete cascade,
  version       integer not null,
  created_by    text,
  spec          jsonb not null,                -- the container block, gpu and networkVolumes of this version
  diff          jsonb not null,                -- [{field, old, new}] against the version before, without secrets
  created_at    timestamptz not null default now(),
  unique (endpoint_id, version)
);

-- Workers: what is wanted and what was observed ----------------------------------------------------------------------

create table workers (
  id              text primary key,
  endpoint_id     text not null,               -- no foreign key: the row outlives its endpoint until the container is gone
  user_id         text not null,
  version         integer not null,
  wanted          text not null default 'RUN' check (wanted in ('RUN', 'DRAIN', 'STOP')),
  wanted_reason   text not null,               -- why it was started, or why it is to leave
  not_before      timestamptz,                 -- a crash loop's pause: it is not started before
  phase           text not null default 'PENDING'
                  check (phase in ('PENDING', 'STARTING', 'RUNNING', 'EXITED')),
  phase_reason    text,                        -- why it waits, or why it ended
  token_hash      bytea,                       -- SHA-256 of the token the worker API takes
  spec            jsonb not null,              -- the release's spec at creation
  gpu_pool        text,
  gpu_type_id     text,
  gpu_count       integer not null default 0,
  data_center_id  text,
  address         text,
  timeline        jsonb not null default '{}', -- stage -> ISO time: capacityAt, pullAt, createAt, startAt, readyAt
  created_at      timestamptz not null default now(),
  started_at      timestamptz,                 -- the container runs
  ready_at        timestamptz,                 -- it asked for work or pinged for the first time
  drain_at        timestamptz,
  exited_at       timestamptz,
  exit_code       integer,
  is_lost         boolean not null default false  -- ended by itself, not because we wanted it
);
create index workers_live on workers (endpoint_id) where phase <> 'EXITED';
create index workers_exited on workers (endpoint_id, exited_at) where phase = 'EXITED';

-- What only a running worker changes, apart from the wanted state so that neither locks the other. Written at most once
-- a second and worker; losing the last second is harmless.
create table worker_activity (
  worker_id          text primary key,
  seen_at            timestamptz not null,     -- last contact with the worker API: the deadline of its leases counts from here
  last_work_at       timestamptz,
  asked_at           timestamptz,              -- it last asked for a job
  unhealthy_reason   text
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05);

-- Jobs ---------------------------------------------------------------------------------------------------------------
-- `jobs` holds only what is queued or leased; a job that ends moves to `finished_jobs` in the same statement. So the
-- queue's indexes never carry finished work, and retention drops whole partitions. Rows up to a page stay in one piece and
-- uncompressed (toast_tuple_target): at two kilobytes, the default, small payloads would be packed and unpacked for nothing.

create table jobs (
  id                   text primary key,
  seq                  bigint generated always as identity (cache 32),
  endpoint_id          text not null,
  status               text not null check (status in ('IN_QUEUE', 'IN_PROGRESS')),
  low_priority         boolean not null,
  is_sync              boolean not null,
  input                text not null,          -- the bytes that came
  extras               text,                   -- s3Config as it came: passed on to the worker, shown to nobody
  webhook              text,
  execution_timeout_ms bigint,                 -- null: the endpoint's
  expires_at           timestamptz not null,   -- policy.ttl; counts only while queued
  has_own_ttl          boolean not null,
  worker_id            text,
  attempt              integer not null default 0,
  created_at           timestamptz not null default now(),
  started_at           timestamptz,
  progress             text,
  waiter               text                    -- the process that holds a runsync or status-sync for it
) with (toast_tuple_target = 8160, autovacuum_vacuum_scale_factor = 0.2, autovacuum_vacuum_threshold = 2000,
        autovacuum_vacuum_insert_scale_factor = 0.5, autovacuum_analyze_scale_factor = 0.5);
create index jobs_queue on jobs (endpoint_id, low_priority, seq) where status = 'IN_QUEUE';
create index jobs_leased on jobs (worker_id) where status = 'IN_PROGRESS';
create index jobs_own_ttl on jobs (expires_at) where status = 'IN_QUEUE' and has_own_ttl;

create table finished_jobs (
  id                   text not null,
  keep_until           timestamptz not null,
  endpoint_id          text not null,
  status               text not null check (status in ('COMPLETED', 'FAILED', 'CANCELLED', 'TIMED_OUT')),
  low_priority         boolean not null,
  is_sync              boolean not null,
  input                text not null,
  extras               text,
  webhook              text,
  execution_timeout_ms bigint,
  ttl_ms               bigint not null,
  worker_id            text,
  attempt              integer not null,
  created_at           timestamptz not null,
  started_at           timestamptz,
  finished_at          timestamptz not null,
  output               text,
  error                text,
  primary key (id, keep_until)
) partition by range (keep_until);
create table finished_jobs_default partition of finished_jobs default with (toast_tuple_target = 8160);

create table job_chunks (
  job_id     text not null,
  seq        bigint generated always as identity,
  chunk      text not null,
  created_at timestamptz not null default now(),
  primary key (job_id, seq)
);
create index job_chunks_by_age on job_chunks using brin (created_at);

-- A worker is told through job-stop to give a job up. The row stays until the worker no longer names the job.
create table job_stops (
  worker_id  text not null,
  job_id     text not null,
  created_at timestamptz not null default now(),
  told_at    timestamptz,
  primary key (worker_id, job_id)
);

create table idempotency_keys (
  endpoint_id text not null,
  key         text not null,
  body_hash   bytea not null,
  job_id      text not null,
  created_at  timestamptz not null default now(),
  primary key (endpoint_id, key)
);
create index idempotency_keys_by_age on idempotency_keys using brin (created_at);

-- Cumulative, exact and free of contention: each batch lane of each process adds to a row of its own, in the statement
-- that changes the jobs. Sums over an endpoint's rows are the truth.
create table endpoint_counters (
  endpoint_id text not null,
  lane        text not null,
  queued      bigint not null default 0,       -- normal jobs that entered the queue minus those that left it
  queued_low  bigint not null default 0,
  in_progress bigint not null default 0,
  completed   bigint not null default 0,
  failed      bigint not null default 0,
  cancelled   bigint not null default 0,
  timed_out   bigint not null default 0,
  retried     bigint not null default 0,
  primary key (endpoint_id, lane)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05);

create table webhook_deliveries (
  id          bigint generated always as identity primary key,
  job_id      text not null,
  endpoint_id text not null,
  url         text not null,
  attempt     integer not null default 0,
  next_at     timestamptz not null default now(),
  created_at  timestamptz not null default now()
);
create index webhook_deliveries_due on webhook_deliveries (next_at);

-- Logs of workers and pods ------------------------------------------------------------------------------------------

create table log_lines (
  seq         bigint generated always as identity,
  workload_id text not null,
  ts          timestamptz not null,
  source      text not null check (source in ('container', 'system')),
  line        text not null,
  stored_at   timestamptz not null default now(),
  primary key (workload_id, seq)
);
create index log_lines_by_age on log_lines using brin (stored_at);

-- Podyard's own processes -------------------------------------------------------------------------------------------

create table processes (
  id      text primary key,
  seen_at timestamptz not null
);

create table settings (
  key   text primary key,
  value jsonb not null
);
