-- Models that the leader's machine stores, as it last wrote them down: what the API shows. The files are the truth.
create table machine_models (
  model_id          text        primary key references pinned_models,
  fetched_at        timestamptz not null,
  used_at           timestamptz not null,
  is_held           boolean     not null,  -- a worker sees it, so it cannot leave
  removal_wanted_at timestamptz            -- an admin wants it removed
);
create trigger fence before insert or update or delete on machine_models for each statement
  execute function refuse_former_leader();
