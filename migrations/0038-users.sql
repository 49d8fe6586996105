-- Users over the API: roles, suspension, removal; of keys who made them and when they were used
-- (docs/decisions/0054-users.md). The first user is an admin; all others stay what they are.
alter table users
  add column role text not null default 'USER' check (role in ('ADMIN', 'USER')),
  add column suspended_at timestamptz,          -- null: active. Its keys are refused
  add column suspended_by text,                 -- the admin; null: the operator's tools
  add column suspension_reason text,
  add column suspended_workloads text check (suspended_workloads in ('KEEP', 'STOP')),
  add column removing_at timestamptz,           -- control deletes what it owns, and then the row
  add column removed_by text,
  add constraint users_suspended check ((suspended_at is null) = (suspended_workloads is null)),
  -- What is being removed is suspended: one column says whether keys are refused.
  add constraint users_removing check (removing_at is null or suspended_at is not null);
update users set role = 'ADMIN' where name = 'admin';
create index users_removing_at on users (removing_at) where removing_at is not null;

alter table api_keys
  add column created_by text,                   -- the user that made it; null: the operator's tools, or before this version
  add column created_by_key text,
  add column last_used_at timestamptz;          -- written at most once a minute; null: never, or before this version

-- Control removes users with what they own.
do $$
declare
  name text;
begin
  foreach name in array array[
    'users', 'api_keys', 'registries', 'registry_delegations', 'secrets', 'templates', 'user_limits'
  ] loop
    execute format(
      'create trigger fence before insert or update or delete on %I for each statement
       execute function refuse_former_leader()',
      name
    );
  end loop;
end
$$;
