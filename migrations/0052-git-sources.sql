-- Builds from git (docs/decisions/0108-builds-from-git.md): where an endpoint's code comes from, and what of it was seen.

create table git_sources (
  id                text primary key,
  endpoint_id       text not null unique references endpoints (id) on delete cascade,
  url               text not null,
  branch            text,                          -- exactly one of branch and tags
  tags              text,                          -- a pattern with *
  folder            text not null,                 -- relative, without a slash at either end; '': the whole repository
  build             jsonb not null,                -- how the folder is built, as `build` of podyard.yaml
  auth              text not null check (auth in ('NONE', 'TOKEN', 'DEPLOY_KEY')),
  token_secret_id   text references secrets (id) on delete set null,
  public_key        text,
  private_key       bytea,                         -- sealed
  webhook_secret    bytea not null,                -- sealed
  poll_seconds      int,                           -- null: only when asked
  known_hosts       text not null default '',
  asks              bigint not null default 1,     -- requests for a look
  answered_asks     bigint not null default 0,
  failures          int not null default 0,        -- in a row, of kinds that may pass
  next_look_at      timestamptz,                   -- null: when asked
  last_commit       text,
  last_ref          text,
  commit_error      text,                          -- why last_commit is not built or deployed
  last_error        text,                          -- why the last look found nothing
  last_looked_at    timestamptz,
  sightings         int not null default 0,        -- commits that a build was made for
  deployed_sighting int not null default 0,        -- the newest that the endpoint runs or ran
  created_at        timestamptz not null default now(),
  check ((branch is null) <> (tags is null))
);
create index git_sources_due on git_sources (next_look_at) where next_look_at is not null;
create index git_sources_asked on git_sources (id) where asks > answered_asks;
create trigger fence before insert or update or delete on git_sources for each statement
  execute function refuse_former_leader();

alter table builds
  add column git           jsonb,                  -- url, commit, ref, author, message
  add column git_source_id text references git_sources (id) on delete set null,
  add column sighting      int,
  add column deployment    text check (deployment in ('PENDING', 'DEPLOYED', 'DROPPED'));
create index builds_to_deploy on builds (number) where deployment = 'PENDING' and status = 'COMPLETED';
create index builds_by_git_source on builds (git_source_id, number) where git_source_id is not null;
