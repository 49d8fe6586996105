-- Endpoints that are deleted unless their client renews them, such as those of `podyard dev --remote`. No row: it stays.
create table endpoint_leases (
  endpoint_id text        primary key references endpoints (id) on delete cascade,
  ends_at     timestamptz not null
);
create trigger fence before insert or update or delete on endpoint_leases for each statement
  execute function refuse_former_leader();
