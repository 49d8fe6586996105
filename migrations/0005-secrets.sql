-- Secrets ------------------------------------------------------------------------------------------------------------

create table secrets (
  id          text primary key,
  user_id     text not null references users,
  name        text not null,
  description text,
  value       bytea not null,                  -- sealed under a master key, with the id as associated data
  created_at  timestamptz not null default now(),
  updated_at  timestamptz not null default now(),
  unique (user_id, name)
);
create index secrets_by_user on secrets (user_id, created_at, id);

-- Under which master key new values are sealed. Whoever seals locks the row for as long as the transaction that stores
-- the value; a rotation changes it first: from then on nothing new appears under the old key.
create table master_key (
  is_only boolean primary key default true check (is_only),
  key_id  bytea                                -- null: nobody has looked yet, the first key of whoever seals
);
insert into master_key default values;
