-- Clusters: pods that are placed all or none, on a network of their own (docs/decisions/0044-clusters.md). What is wanted is
-- written by the operations, the phase by control alone (docs/states.md, "Cluster").
create table clusters (
  id               text primary key,
  user_id          text not null references users,
  name             text not null,
  type             text not null check (type in ('APPLICATION', 'TRAINING', 'SLURM', 'RAY')),
  gpu_type_id      text not null,
  gpus_per_pod     integer not null,
  pod_count        integer not null,
  cloud            text not null,               -- of its pods: where the GPU type is offered
  data_center_ids  text[] not null,             -- as requested; empty: any
  template_id      text,
  created_at       timestamptz not null default now(),
  wanted           text not null default 'RUN' check (wanted in ('RUN', 'DELETE')),

  phase            text not null default 'WAITING' check (phase in ('WAITING', 'STARTING', 'RUNNING', 'FAILED')),
  phase_reason     text,                        -- why it waits or failed
  attempts         integer not null default 0,  -- places that turned out not to hold all pods
  not_before       timestamptz,                 -- the pause after such an attempt
  data_center_id   text,                        -- null until it has a place
  cidr             text,                        -- of its network; null where it has no range of its own
  gone_at          timestamptz                  -- deleted: its pods and its network are removed
);
create index clusters_by_user on clusters (user_id, created_at, id) where wanted <> 'DELETE';
create index clusters_live on clusters (created_at, id) where gone_at is null;

alter table pods
  add column cluster_id text references clusters,
  add column cluster_rank integer,
  add column cluster_ip text,                   -- on the cluster's network, once known
  add constraint pods_rank check ((cluster_id is null) = (cluster_rank is null));
create unique index pods_by_cluster on pods (cluster_id, cluster_rank) where cluster_id is not null;

-- The cluster that a run is charged to.
alter table pod_runs add column cluster_id text;

alter table usage drop constraint usage_kind_check;
alter table usage add constraint usage_kind_check check (kind in ('SERVERLESS', 'POD', 'NETWORK_VOLUME', 'CLUSTER'));

create trigger fence before insert or update or delete on clusters for each statement
  execute function refuse_former_leader();
