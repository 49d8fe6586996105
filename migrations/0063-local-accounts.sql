-- Local accounts (docs/decisions/0117-local-accounts.md): invitations, passwords and passkeys of people without an identity provider, and
-- sessions that a proxy vouches for.
create table invitations (
  user_id     text primary key references users on delete cascade, -- a new one replaces the one before
  secret_hash bytea not null unique,
  created_at  timestamptz not null default now(),
  expires_at  timestamptz not null
);

-- Who has a row may sign in here with an e-mail or a name. `hash`: argon2id with its salt and parameters, in the PHC string format.
create table passwords (
  user_id    text primary key references users on delete cascade,
  hash       text not null,
  changed_at timestamptz not null default now()
);

create table passkeys (
  id            text primary key,
  user_id       text not null references passwords on delete cascade,
  name          text not null,
  credential_id text not null unique,   -- base64url, as browsers send it
  public_key    bytea not null,         -- COSE
  counter       bigint not null,        -- of the authenticator; 0 for those that count nothing
  transports    text[] not null default '{}',
  created_at    timestamptz not null default now(),
  last_used_at  timestamptz
);
create index passkeys_of_user on passkeys (user_id, created_at);
create index users_by_email on users (lower(email)) where email is not null;

-- Tries with passwords, by a hash of the account as it was typed, or of the address, for a quarter of an hour.
create table sign_in_tries (
  key   bytea primary key,
  tries int not null,
  since timestamptz not null
);
create index sign_in_tries_by_age on sign_in_tries (since);

alter table sessions
  drop constraint sessions_check1,
  add constraint sessions_account check ((made_by in ('OIDC', 'PROXY')) = (provider is not null and subject is not null));

-- Control removes users with all of these.
create trigger fence before insert or update or delete on invitations for each statement
  execute function refuse_former_leader();
create trigger fence before insert or update or delete on passwords for each statement
  execute function refuse_former_leader();
create trigger fence before insert or update or delete on passkeys for each statement
  execute function refuse_former_leader();
create trigger fence before insert or update or delete on sign_in_tries for each statement
  execute function refuse_former_leader();
