-- Frozen workers: kept in memory without running, until there is work for them again -----------------------------------

alter table workers
  drop constraint workers_wanted_check,
  drop constraint workers_phase_check,
  add constraint workers_wanted_check check (wanted in ('RUN', 'FREEZE', 'DRAIN', 'STOP')),
  add constraint workers_phase_check check (phase in ('PENDING', 'STARTING', 'RUNNING', 'FROZEN', 'EXITED')),
  add column memory_bytes bigint,              -- measured when it was frozen; null before
  add column frozen_at timestamptz,            -- null unless FROZEN
  add column thaw_wanted_at timestamptz,       -- last told to go on
  add column thawed_at timestamptz;            -- last went on
create index workers_frozen on workers (frozen_at)
  where (wanted = 'FREEZE' or phase = 'FROZEN') and phase <> 'EXITED';

-- When a worker was frozen: that time costs nothing, and a job that waited for the thaw can say so.
create table worker_freezes (
  worker_id      text not null references workers on delete cascade,
  frozen_at      timestamptz not null,
  thaw_wanted_at timestamptz,
  thawed_at      timestamptz,
  primary key (worker_id, frozen_at)
);

-- What the scaler decided whenever it did something, with what it knew: the last few of each endpoint ------------------

create table scaling_decisions (
  id          bigint generated always as identity primary key,
  endpoint_id text not null references endpoints on delete cascade,
  at          timestamptz not null,
  wanted      integer not null,
  reason      text not null,
  inputs      jsonb not null,
  actions     jsonb not null
);
create index scaling_decisions_by_endpoint on scaling_decisions (endpoint_id, id);

-- Attempts at a job that were lost with their worker; the last attempt is in the job itself ----------------------------

create table lost_attempts (
  job_id     text not null,
  attempt    integer not null,
  worker_id  text not null,
  started_at timestamptz not null,
  lost_at    timestamptz not null default now(),
  primary key (job_id, attempt)
);
create index lost_attempts_by_age on lost_attempts using brin (lost_at);

-- Emulated shortage: what `podyard simulate` set is a row of `settings`; what shall happen once waits here -------------

create table simulated_incidents (
  id         bigint generated always as identity primary key,
  incident   jsonb not null,
  created_at timestamptz not null default now()
);
