-- Models that releases use, resolved: the same id is the same bytes, whoever uses it. Releases name them in spec -> 'models'.
create table pinned_models (
  id         text        primary key,          -- SHA-256 of source, name, commit and files, in hex
  source     text        not null check (source in ('HUB', 'HTTPS', 'S3', 'OCI')),
  name       text        not null,             -- ORG/NAME of a hub's repository, or a URL without its query
  commit     text        not null,
  files      jsonb       not null,             -- [{"path", "size", "digest"}], by path
  bytes      bigint      not null,
  created_at timestamptz not null default now()
);
create trigger fence before insert or update or delete on pinned_models for each statement
  execute function refuse_former_leader();
