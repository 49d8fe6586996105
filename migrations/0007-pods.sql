-- Pods: what is wanted and what was observed, apart ------------------------------------------------------------------

create table pods (
  id                   text primary key,
  user_id              text not null references users,
  name                 text not null,
  image                text not null,
  args                 text not null,
  disk_gb              integer not null,
  ports                text[] not null,
  env                  jsonb not null,
  registry_id          text,
  gpu_type_id          text,                   -- null for a CPU pod
  gpu_count            integer,
  cpu                  jsonb,                  -- {id, vcpuCount, memory}; null for a GPU pod
  cloud                text not null check (cloud in ('SECURE', 'COMMUNITY')),
  data_center_ids      text[] not null,        -- as asked for; empty: any
  persistent_size_gb   integer,                -- null, with the path, when it has no persistent mount
  persistent_path      text,
  network_volume_id    text,                   -- likewise
  network_volume_path  text,
  template_id          text,
  is_locked            boolean not null default false,
  has_global_network   boolean not null,
  created_at           timestamptz not null default now(),

  -- Wanted. A revision is one container: whatever makes another one necessary (a start, a restart, other settings) adds one.
  wanted               text not null default 'RUN' check (wanted in ('RUN', 'STOP', 'TERMINATE')),
  revision             integer not null default 1,
  gpu_pool             text,                   -- its place, given by whoever wants it to run, and kept while it is stopped
  data_center_id       text not null,

  -- Observed, and written by control alone.
  phase                text not null default 'EXITED'
                       check (phase in ('PROVISIONING', 'STARTING', 'RUNNING', 'EXITED', 'ERROR')),
  phase_reason         text,                   -- why it waits, or why it could not be started
  phase_revision       integer not null default 0, -- the revision that the phase is about
  failures             integer not null default 0, -- ends that nobody wanted, since it last ran for a while
  not_before           timestamptz,            -- the pause after such an end
  address              text,
  published_ports      jsonb not null default '[]', -- [{private, public, type, ip}] while it runs
  started_at           timestamptz,            -- when the container last started
  changed_at           timestamptz not null default now(), -- when the phase or the wish last changed
  gone_at              timestamptz,            -- terminated: container and persistent mount are removed

  check ((gpu_type_id is null) <> (cpu is null))
);
create index pods_by_user on pods (user_id, created_at, id) where wanted <> 'TERMINATE';
create index pods_live on pods (created_at, id) where gone_at is null;
create index pods_by_template on pods (template_id) where template_id is not null and wanted <> 'TERMINATE';

-- One row for each container of a pod: what usage is metered from.
create table pod_runs (
  pod_id     text not null,
  revision   integer not null,
  user_id    text not null,
  tariff     text not null check (tariff in ('SECURE', 'COMMUNITY')),
  gpu_type   text,
  gpu_count  integer not null,
  cpu_flavor text,
  vcpus      integer not null,
  disk_gb    integer not null,
  started_at timestamptz not null default clock_timestamp(),
  ended_at   timestamptz,
  primary key (pod_id, started_at)
);
create index pod_runs_open on pod_runs (pod_id) where ended_at is null;
create index pod_runs_by_end on pod_runs (ended_at);
