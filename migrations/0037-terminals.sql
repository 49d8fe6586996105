-- Terminal sessions: who ran a program in which pod or worker, from where and for how long (docs/decisions/0053-terminals.md).
-- Never what was typed or printed. Before it is opened, a row is also the ticket that opens it.
create table terminal_sessions (
  id             text primary key,
  user_id        text not null references users on delete cascade,
  key_id         text not null,          -- no reference: the record outlives the key
  key_name       text not null,
  pod_id         text,                   -- either a pod
  endpoint_id    text,                   -- or a worker of an endpoint
  worker_id      text,
  program        text not null,          -- its name without arguments, which may hold secrets
  has_terminal   boolean not null,
  ticket_hash    bytea unique,           -- null once it was used
  request        jsonb,                  -- the command; null once the ticket was used
  client_address text,
  process_id     text,                   -- of the server process that serves it
  created_at     timestamptz not null default now(),
  opened_at      timestamptz,
  seen_at        timestamptz,            -- when the process last wrote that it serves it
  end_wanted_at  timestamptz,
  ended_at       timestamptz,
  exit_code      integer,                -- null: it did not end by itself
  end_reason     text,
  check (num_nonnulls(pod_id, worker_id) = 1)
);
create index terminal_sessions_user on terminal_sessions (user_id, created_at desc);
create index terminal_sessions_created on terminal_sessions (created_at desc);
create index terminal_sessions_live on terminal_sessions (user_id) where ended_at is null;

-- Control deletes old rows.
create trigger fence before insert or update or delete on terminal_sessions for each statement
  execute function refuse_former_leader();
