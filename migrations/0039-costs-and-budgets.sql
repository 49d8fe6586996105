-- Costs by day, and budgets (docs/decisions/0055-costs-and-budgets.md) ----------------------------------------------------

-- What each resource cost on each UTC day: the sums of `usage`, added in the statement that meters a minute. A report over a
-- year of 10,000 endpoints reads 3.6 million of these rows; in hours it would be 24 times as many.
create table usage_days (
  user_id        text not null,
  day            date not null,
  kind           text not null check (kind in ('SERVERLESS', 'POD', 'NETWORK_VOLUME', 'CLUSTER')),
  resource_id    text not null,
  name           text,                           -- the resource's last name that day: it outlives the resource
  gpu_seconds    numeric not null,               -- GPUs times seconds
  vcpu_seconds   numeric not null,
  gb_seconds     numeric not null,
  gpu_amount     numeric not null,               -- USD
  cpu_amount     numeric not null,
  storage_amount numeric not null,
  primary key (user_id, day, kind, resource_id)
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05);

insert into usage_days
select user_id, (starts_at at time zone 'UTC')::date, kind, resource_id, null,
       coalesce(sum(seconds * units) filter (where component = 'GPU'), 0),
       coalesce(sum(seconds * units) filter (where component = 'CPU'), 0),
       coalesce(sum(seconds * units) filter (where component not in ('GPU', 'CPU')), 0),
       coalesce(sum(amount) filter (where component = 'GPU'), 0),
       coalesce(sum(amount) filter (where component = 'CPU'), 0),
       coalesce(sum(amount) filter (where component not in ('GPU', 'CPU')), 0)
from usage group by 1, 2, 3, 4;

-- How much a user, or one of their endpoints, is to cost in a month (UTC), and what happens at it. A user may have one
-- of their own and one that the administrator set for them, for each.
create table budgets (
  id          text primary key,
  user_id     text not null references users on delete cascade,
  endpoint_id text references endpoints on delete cascade,  -- null: everything of the user
  owner       text not null check (owner in ('USER', 'ADMIN')),
  amount      numeric not null check (amount >= 0),         -- USD a month
  action      text not null check (action in ('NOTIFY', 'STOP')),
  notify_at   integer[] not null,                           -- percent of the amount
  webhook     text,
  month       date not null,                                -- whose cost `spent` is, at the last look
  spent       numeric not null,
  created_at  timestamptz not null default now(),
  unique nulls not distinct (user_id, endpoint_id, owner)
);

-- A threshold that was passed: once in a month. `amount` is part of it, as 80 % of a raised budget is another threshold.
create table budget_notices (
  id        bigint generated always as identity primary key,
  budget_id text not null references budgets on delete cascade,
  month     date not null,
  percent   integer not null,
  amount    numeric not null,
  spent     numeric not null,
  at        timestamptz not null default now(),
  unique (budget_id, month, percent, amount)
);

-- A delivery of a notice has neither job nor endpoint.
alter table webhook_deliveries add column notice_id bigint;

do $$
declare
  name text;
begin
  foreach name in array array['usage_days', 'budgets', 'budget_notices'] loop
    execute format(
      'create trigger fence before insert or update or delete on %I for each statement
       execute function refuse_former_leader()',
      name
    );
  end loop;
end
$$;
