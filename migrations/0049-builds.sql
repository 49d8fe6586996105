-- Images that users have built (docs/decisions/0104-builds-as-records.md): the files of their folders by content, the builds with
-- their steps, and what they print.

create table build_files (
  id           text primary key,
  user_id      text not null references users (id) on delete cascade,
  digest       text not null,                      -- SHA-256, 64 hexadecimal digits
  size_bytes   bigint not null,
  completed_at timestamptz,                        -- null: is being sent
  used_at      timestamptz not null default now()
);
create unique index build_files_by_digest on build_files (user_id, digest) where completed_at is not null;
create index build_files_by_use on build_files (used_at);

create table build_file_chunks (
  file_id text not null references build_files (id) on delete cascade,
  number  int not null,
  data    bytea not null,
  primary key (file_id, number)
);
-- Sent once, read once or twice: compressing it costs more than it saves.
alter table build_file_chunks alter column data set storage external;

create table builds (
  id            text primary key,
  user_id       text not null references users (id) on delete cascade,
  number        bigint generated always as identity, -- the order in which they were made, and run
  name          text not null,
  status        text not null default 'QUEUED'
                check (status in ('QUEUED', 'BUILDING', 'PUSHING', 'COMPLETED', 'FAILED', 'CANCELLED')),
  is_cancelling boolean not null default false,
  interruptions int not null default 0,              -- how often a server ended while it built this
  source        text not null check (source in ('UPLOAD', 'GIT')),
  recipe        jsonb not null,
  args          jsonb not null,
  secrets       jsonb not null,                      -- names of secrets by id; never values
  uses_cache    boolean not null,
  content_hash  text not null,                       -- SHA-256 of the folder and how it is built
  image         text,                                -- null: none, or removed
  digest        text,
  size_bytes    bigint,
  reason        text,
  failed_step   text,
  endpoint_id   text references endpoints (id) on delete set null, -- which took the image last
  retry_of      text,
  created_at    timestamptz not null default now(),
  started_at    timestamptz,
  ended_at      timestamptz
);
create index builds_by_user on builds (user_id, number);
create index builds_by_content on builds (user_id, content_hash);
create index builds_by_endpoint on builds (endpoint_id, number) where endpoint_id is not null;
create index builds_unfinished on builds (number) where ended_at is null;

create table build_folders (
  build_id text primary key references builds (id) on delete cascade,
  entries  jsonb not null
);

create table build_steps (
  build_id   text not null references builds (id) on delete cascade,
  step       text not null,
  number     int not null,
  name       text not null,
  status     text not null check (status in ('RUNNING', 'COMPLETED', 'CACHED', 'FAILED')),
  started_at timestamptz not null,
  ended_at   timestamptz,
  primary key (build_id, step)
);

create table build_lines (
  build_id text not null references builds (id) on delete cascade,
  number   int not null,
  at       timestamptz not null,
  step     text,
  stream   text not null check (stream in ('stdout', 'stderr', 'system')),
  text     text not null,
  primary key (build_id, number)
);

do $$
declare
  name text;
begin
  foreach name in array array['build_files', 'build_file_chunks', 'builds', 'build_folders', 'build_steps', 'build_lines'] loop
    execute format(
      'create trigger fence before insert or update or delete on %I for each statement execute function refuse_former_leader()', name);
  end loop;
end
$$;
