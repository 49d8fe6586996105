-- Access keys of S3 (docs/decisions/0113-files-of-volumes.md). Signatures need the secret itself, so it is sealed, not hashed.
create table s3_keys (
  id             text primary key,                -- the access key id
  user_id        text        not null references users (id) on delete cascade,
  name           text        not null,
  secret         bytea       not null,            -- sealed
  scopes         text[]      not null,            -- of the area `files` only
  created_at     timestamptz not null default now(),
  expires_at     timestamptz,                     -- null: never
  last_used_at   timestamptz,
  created_by_key text                             -- null: somebody with the database
);
create index s3_keys_by_user on s3_keys (user_id, created_at);
create trigger fence before insert or update or delete on s3_keys for each statement
  execute function refuse_former_leader();
