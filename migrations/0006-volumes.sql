-- Network volumes on this machine: what they hold, and what has to go ------------------------------------------------

alter table network_volumes add column used_bytes bigint not null default 0; -- as last measured; nobody wrote to it: 0

-- Data is deleted because somebody said so, never because a row is missing: a database of yesterday costs no files.
create table volume_removals (
  volume_id      text primary key,
  data_center_id text not null,
  deleted_at     timestamptz not null default now()
);
