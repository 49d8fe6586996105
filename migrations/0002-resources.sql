-- Credentials for private images -------------------------------------------------------------------------------------

create table registries (
  id         text primary key,
  user_id    text not null references users,
  name       text not null,
  username   text not null,
  password   bytea not null,                   -- sealed under the master key, with the id as associated data
  created_at timestamptz not null default now()
);
create index registries_by_user on registries (user_id, created_at, id);

create table registry_delegations (
  id          text primary key,
  user_id     text not null references users,
  name        text,
  partition   text not null,                   -- the parts of the ARN that was given
  aws_region  text not null,
  aws_account text not null,
  repository  text not null,
  tag         text,
  created_at  timestamptz not null default now()
);
create index registry_delegations_by_user on registry_delegations (user_id, created_at, id);

-- Network volumes ----------------------------------------------------------------------------------------------------

create table network_volumes (
  id             text primary key,
  user_id        text not null references users,
  name           text not null,
  size_gb        integer not null,
  data_center_id text not null,
  type           text not null check (type in ('STANDARD', 'HIGH_PERFORMANCE')),
  created_at     timestamptz not null default now()
);
create index network_volumes_by_user on network_volumes (user_id, created_at, id);

-- Templates ----------------------------------------------------------------------------------------------------------

create table templates (
  id                 text primary key,
  user_id            text not null references users,
  name               text not null,
  image              text not null,
  args               text not null,
  disk_gb            integer not null,
  ports              text[] not null,
  env                jsonb not null,
  registry_id        text references registries on delete set null,
  persistent_size_gb integer,                  -- null, with the path, when it has no persistent mount
  persistent_path    text,
  is_serverless      boolean not null,
  is_public          boolean not null,
  category           text not null check (category in ('CPU', 'NVIDIA', 'AMD')),
  last_used_at       timestamptz,              -- when the last thing made from it went
  created_at         timestamptz not null default now()
);
-- A hash, because a name may be longer than an index entry.
create unique index templates_by_name on templates (user_id, md5(name));
create index templates_by_user on templates (user_id, created_at, id);
create index templates_by_registry on templates (registry_id) where registry_id is not null;

-- Whether a template is in use.
create index endpoints_by_template on endpoints (template_id) where template_id is not null;
