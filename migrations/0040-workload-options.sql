-- What an endpoint sets for its workers' containers or pods beside the container settings (docs/interface/rest.md, "Workload options").
create table endpoint_workload_options (
  endpoint_id       text primary key references endpoints on delete cascade,
  labels            jsonb not null,             -- {name: value}
  annotations       jsonb not null,
  cpus_per_gpu      double precision,           -- null: the operator's
  memory_gb_per_gpu integer,
  updated_at        timestamptz not null default now()
);
create trigger fence before insert or update or delete on endpoint_workload_options for each statement
execute function refuse_former_leader();
