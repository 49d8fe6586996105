-- Browsers that opened an HTTP port of a private pod with their session (docs/decisions/0129-private-pods-in-a-browser.md). Both hashes
-- cover the pod, its port and what else must fit, so that nothing is compared but them.
create table pod_sign_ins (
  session_id  text not null references sessions on delete cascade,
  ticket_hash bytea unique, -- until its browser has used it
  secret_hash bytea unique, -- from then on: of the cookie
  created_at  timestamptz not null default now(),
  check ((ticket_hash is null) <> (secret_hash is null))
);
create index pod_sign_ins_of_session on pod_sign_ins (session_id, created_at);
create trigger fence before insert or update or delete on pod_sign_ins for each statement
  execute function refuse_former_leader();
