-- Command lines that ask for an API key of their own, and memberships that groups of a provider give
-- (docs/decisions/0118-podyard-login-and-groups.md).

-- Removed when the key is fetched. What has expired goes with the next request.
create table login_requests (
  id             text primary key,
  code_hash      bytea not null unique,  -- of what the command line fetches the key with
  user_code_hash bytea unique,           -- of what a person types to find it; null: their browser brings the code
  challenge      text,                   -- SHA-256 of what else the command line must know, where a browser brings the code
  host           text not null,          -- what the machine calls itself
  network        text not null,          -- from where it asks
  address        text not null,
  state          text not null default 'PENDING' check (state in ('PENDING', 'APPROVED', 'DENIED')),
  session_id     text references sessions on delete cascade, -- of the person who approved: the key may do what it may
  key_days       integer,                -- for how long
  polled_at      timestamptz not null default now(),
  poll_seconds   integer not null default 2, -- grows for a command line that asks too often
  expires_at     timestamptz not null,
  check ((user_code_hash is null) = (challenge is not null)),
  check ((state = 'APPROVED') = (session_id is not null and key_days is not null))
);
create index login_requests_of_session on login_requests (session_id);
create index login_requests_by_end on login_requests (expires_at);
create trigger fence before insert or update or delete on login_requests for each statement
  execute function refuse_former_leader();

-- The issuer whose groups make somebody a member; null: a person did. Only the former end with the group.
alter table team_members add column granted_by text;
