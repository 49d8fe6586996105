-- Models are also fetched before a start needs them, and kept: the list has those that are on their way, and the room for them.
alter table machine_models
  alter fetched_at drop not null,  -- null: it is not whole yet
  alter used_at drop not null,
  alter is_held set default false,
  add is_kept boolean not null default false,                   -- an admin pinned it: it does not leave to make room
  add wanted_by text references users on delete set null,       -- who has it fetched before a start needs it
  add token_secret text,                                        -- their secret with the origin's token
  add fetched_bytes bigint not null default 0,                  -- while it is being fetched
  add fetch_total_bytes bigint not null default 0,
  add fetch_bytes_per_second bigint not null default 0,
  add problem text;                                             -- why the fetch failed
create table model_room (
  is_only      boolean primary key default true check (is_only),
  budget_bytes bigint  not null,
  used_bytes   bigint  not null,
  stuck_bytes  bigint  not null   -- of models that workers use or that are kept
);
create trigger fence before insert or update or delete on model_room for each statement
  execute function refuse_former_leader();
