-- Notices (docs/decisions/0119-notices.md): where people are told that something needs them.
create table notice_destinations (
  id           text        primary key,
  user_id      text        references users on delete cascade,  -- a user or a team; null: the installation
  name         text        not null,
  kind         text        not null check (kind in ('EMAIL', 'WEBHOOK', 'SLACK', 'TEAMS')),
  address      text        not null,             -- an e-mail address, or the host of the URL
  secret       bytea,                            -- sealed: the URL and what signs; null: e-mail
  events       text[]      not null,
  wait_minutes int         not null,
  is_enabled   boolean     not null default true,
  created_at   timestamptz not null default now()
);
create index notice_destinations_by_user on notice_destinations (user_id, created_at);

-- What holds now and was told to a destination. A row goes when it no longer holds.
create table notices (
  destination_id text        not null references notice_destinations on delete cascade,
  event          text        not null,
  subject        text        not null,           -- what of: an endpoint's id, say
  item           jsonb       not null,           -- as it was told
  began_at       timestamptz not null default now(),
  absent_since   timestamptz,                    -- null: it was there at the last look
  primary key (destination_id, event, subject)
);

-- The outbox. What is in it is sent, or given up, whoever leads.
create table notice_messages (
  id             bigint      generated always as identity primary key,
  destination_id text        not null references notice_destinations on delete cascade,
  items          jsonb       not null,
  more           int         not null default 0, -- what no item is kept of
  is_summary     boolean     not null default false,
  is_test        boolean     not null default false,
  created_at     timestamptz not null default now(),
  due_at         timestamptz not null default now(),
  attempts       int         not null default 0,
  last_error     text,
  sent_at        timestamptz,
  given_up_at    timestamptz
);
create index notice_messages_by_destination on notice_messages (destination_id, id);
create index notice_messages_waiting on notice_messages (destination_id, id) where sent_at is null and given_up_at is null;

-- Who led at the last look, and when that was.
create table notice_looks (
  id        int         primary key check (id = 1),
  epoch     bigint      not null,
  looked_at timestamptz not null
);

create trigger fence before insert or update or delete on notice_destinations for each statement
  execute function refuse_former_leader();
create trigger fence before insert or update or delete on notices for each statement
  execute function refuse_former_leader();
create trigger fence before insert or update or delete on notice_messages for each statement
  execute function refuse_former_leader();
create trigger fence before insert or update or delete on notice_looks for each statement
  execute function refuse_former_leader();

-- Whoever may connect to the database may not remove entries of the audit log. The owner of the function still may.
revoke execute on function podyard_expire_audit(timestamptz, int) from public;

-- How far each stream of the audit log has got: the webhook, syslog, OTLP.
alter table audit_stream add column kind text not null default 'WEBHOOK';
alter table audit_stream drop column id;
alter table audit_stream alter column kind drop default, add primary key (kind);
