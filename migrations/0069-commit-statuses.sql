-- Statuses of commits, which the hosts of repositories show (docs/decisions/0123-what-git-hosts-are-told.md).

alter table git_sources
  add column statuses     text not null default 'NONE' check (statuses in ('NONE', 'GITHUB', 'GITLAB', 'GITEA')), -- whose API the host has
  add column status_error text;                        -- why the last status was not posted

-- Builds whose end a host still has to learn. The row goes with its last status.
create table commit_statuses (
  build_id text primary key references builds (id) on delete cascade,
  posted   text,                                       -- what the host was told, or refused; null: nothing yet
  failures int not null default 0,                     -- in a row
  next_at  timestamptz not null default now()
);
create trigger fence before insert or update or delete on commit_statuses for each statement
  execute function refuse_former_leader();
