-- Sign-in of people: sessions of browsers, and the accounts of identity providers (docs/decisions/0114-sign-in.md).
create table sessions (
  id           text primary key,
  user_id      text not null references users on delete cascade,
  secret_hash  bytea not null unique,    -- of the cookie and the page's token together
  made_by      text not null check (made_by in ('KEY', 'OIDC', 'PASSWORD', 'PASSKEY', 'PROXY')),
  key_id       text references api_keys on delete cascade, -- it permits what the key does, and ends with it
  provider     text,                     -- of OIDC: the provider's name in the settings, the account there, and its own session
  subject      text,
  provider_sid text,
  tokens       bytea,                    -- sealed: the refresh and the id token
  refresh_at   timestamptz,              -- when the provider is asked again; null: never
  user_agent   text,
  address      text,
  created_at   timestamptz not null default now(),
  last_used_at timestamptz not null default now(), -- written at most once a minute
  idle         interval not null,        -- it ends when it was not used for so long
  expires_at   timestamptz not null,     -- and then in any case
  check ((made_by = 'KEY') = (key_id is not null)),
  check ((made_by = 'OIDC') = (provider is not null and subject is not null))
);
create index sessions_of_user on sessions (user_id, created_at);
create index sessions_of_key on sessions (key_id) where key_id is not null;
create index sessions_of_subject on sessions (provider, subject) where provider is not null;
create index sessions_to_refresh on sessions (refresh_at) where refresh_at is not null;

-- A person at an identity provider. `issuer`, not the provider's name in the settings: that may change.
create table identities (
  id           text primary key,
  issuer       text not null,
  subject      text not null,
  user_id      text not null references users on delete cascade,
  email        text,
  groups       text[] not null default '{}', -- at the latest sign-in or refresh
  created_at   timestamptz not null default now(),
  last_used_at timestamptz not null default now(),
  unique (issuer, subject)
);
create index identities_of_user on identities (user_id);

-- Answers of providers that were used, so that none is used twice: hashes of `state` and of logout tokens, for an hour.
create table used_answers (
  hash    bytea primary key,
  used_at timestamptz not null default now()
);
create index used_answers_by_age on used_answers (used_at);

alter table terminal_sessions add column session_id text; -- of the browser that opened it; `key_id` is empty then

-- Control removes users with their sessions and identities.
create trigger fence before insert or update or delete on sessions for each statement
  execute function refuse_former_leader();
create trigger fence before insert or update or delete on identities for each statement
  execute function refuse_former_leader();
create trigger fence before insert or update or delete on used_answers for each statement
  execute function refuse_former_leader();
