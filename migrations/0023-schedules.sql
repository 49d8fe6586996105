-- An endpoint's floors of workers by weekday and time of day (docs/decisions/0040-scheduled-floors.md).
create table endpoint_schedules (
  endpoint_id text primary key references endpoints on delete cascade,
  time_zone   text not null,                   -- an IANA name
  floors      jsonb not null,                  -- [{days, from, until, workersMin}], times of day as HH:MM
  updated_at  timestamptz not null default now()
);
create trigger fence before insert or update or delete on endpoint_schedules for each statement
execute function refuse_former_leader();
