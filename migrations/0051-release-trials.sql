-- The trial of a release: one of its workers is to become ready (docs/states.md, "Release"). No row: nobody asked for it.
create table release_trials (
  endpoint_id text        not null,
  version     integer     not null,
  state       text        not null check (state in ('ASKED', 'PASSED', 'FAILED', 'SKIPPED')),
  reason      text,                            -- why it failed, with the last lines of output, or why it was skipped
  worker_id   text,                            -- that passed or failed it
  asked_at    timestamptz not null default now(),
  ended_at    timestamptz,
  primary key (endpoint_id, version),
  foreign key (endpoint_id, version) references releases (endpoint_id, version) on delete cascade
);
create index release_trials_asked on release_trials (endpoint_id) where state = 'ASKED';
create trigger fence before insert or update or delete on release_trials for each statement
  execute function refuse_former_leader();

-- The release that serves because the newest one failed its trial; null: the newest.
alter table endpoints add column serving_version integer;
