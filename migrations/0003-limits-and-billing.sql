-- Rate limits --------------------------------------------------------------------------------------------------------

alter table users
  add column is_rate_exempt    boolean not null default false,
  add column rate_limit_minute integer,        -- null: the configuration's
  add column rate_limit_hour   integer,
  add column rate_limit_day    integer;

-- One row a user, for all three windows: a request costs one update of one row that no index but the key's knows.
-- Windows are numbered: whole minutes, hours and days since 1970. The quotas are those that the latest count was made
-- with, `granted` how many requests of that count were allowed: columns, so that one statement can read and answer them.
create table rate_windows (
  user_id      text primary key references users on delete cascade,
  minute       bigint not null,
  minute_used  bigint not null,
  minute_quota bigint not null,
  hour         bigint not null,
  hour_used    bigint not null,
  hour_quota   bigint not null,
  day          bigint not null,
  day_used     bigint not null,
  day_quota    bigint not null,
  granted      bigint not null
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05);

-- Billing ------------------------------------------------------------------------------------------------------------

-- What was used and what it cost, priced when it was metered. Written by the minute; whole hours that lie back are
-- folded into one row (`span`), because no bucket is smaller. Outlives what it is about: no foreign keys.
create table usage (
  starts_at   timestamptz not null,
  span        text not null check (span in ('minute', 'hour')),
  user_id     text not null,
  kind        text not null check (kind in ('SERVERLESS', 'POD', 'NETWORK_VOLUME')),
  resource_id text not null,
  component   text not null check (component in ('GPU', 'CPU', 'DISK', 'STANDARD', 'HIGH_PERFORMANCE')),
  item        text not null,                   -- GPU type or CPU flavour; empty for storage
  units       integer not null,                -- GPUs, vCPUs or GB
  seconds     numeric not null,                -- for how long so many units were held, over all workers
  amount      numeric not null,                -- USD
  primary key (user_id, starts_at, kind, resource_id, component, item, units, span)
);
create index usage_by_minute on usage (starts_at) where span = 'minute';

-- The one row says until when usage is written. It moves in the transaction that writes: a minute is metered once.
create table usage_meter (
  is_only       boolean primary key default true check (is_only),
  metered_until timestamptz not null
);
insert into usage_meter (metered_until) values (date_trunc('minute', now(), 'UTC'));
