-- Log lines in segments, ranges of sequence numbers: the oldest is dropped as a whole, which costs the same for one line as for a
-- million (docs/decisions/0083-log-segments.md). Lines are copied once, the newest of about 2 GiB, in about a minute and a half.

alter table log_lines rename to old_log_lines;
alter index log_lines_pkey rename to old_log_lines_pkey;
alter sequence log_lines_seq_seq rename to old_log_lines_seq_seq;

create table log_lines (
  seq         bigint generated always as identity,
  workload_id text not null,
  endpoint_id text,                       -- of a worker; null: the line of a pod
  ts          timestamptz not null,
  source      text not null check (source in ('container', 'system')),
  line        text not null,
  level       smallint,
  stored_at   timestamptz not null default now(),
  primary key (workload_id, seq)
) partition by range (seq);
-- The lines of all workers of an endpoint, however many it had.
create index log_lines_by_endpoint on log_lines (endpoint_id, seq) where endpoint_id is not null;
create trigger fence before insert or update or delete on log_lines for each statement
  execute function refuse_former_leader();

-- Segment `log_lines_<first_seq>` has the lines with first_seq <= seq < end_seq.
create table log_segments (
  first_seq bigint primary key,
  end_seq   bigint not null check (end_seq > first_seq),
  begun_at  timestamptz not null,         -- its lines were stored since then, and before the next one began
  late_ms   bigint not null default 60000 -- how long after they were written its lines were stored, at most
);
create trigger fence before insert or update or delete on log_segments for each statement
  execute function refuse_former_leader();

do $$
declare
  first_line bigint;
  last_line  bigint;
  total      bigint;
  kept       bigint;
  step       bigint;
  low        bigint := 0;
  high       bigint;
begin
  select coalesce(min(seq), 0), coalesce(max(seq), 0), count(*) into first_line, last_line, total from old_log_lines;
  kept := least(5000000, floor(total * 2147483648.0 / pg_total_relation_size('old_log_lines')));
  if total > kept then
    first_line := last_line - kept + 1;
    low := first_line; -- older ones are removed
  end if;
  step := greatest(1000000, (last_line - first_line) / 24 + 1);
  high := first_line + step;
  loop
    -- The newest one has room for new lines.
    if high > last_line then high := last_line + 16777216; end if;
    execute format(
      'create table log_lines_%s (like log_lines including all excluding identity) with (autovacuum_vacuum_insert_threshold = -1)', low);
    execute format('alter table log_lines attach partition log_lines_%s for values from (%s) to (%s)', low, low, high);
    insert into log_segments (first_seq, end_seq, begun_at) values (low, high, now());
    exit when high > last_line;
    low := high;
    high := high + step;
  end loop;
  perform setval(pg_get_serial_sequence('log_lines', 'seq'), greatest(last_line, 1), last_line > 0);
end
$$;

insert into log_lines (seq, workload_id, endpoint_id, ts, source, line, level, stored_at) overriding system value
  select l.seq, l.workload_id, w.endpoint_id, l.ts, l.source, l.line, l.level, l.stored_at
  from old_log_lines l left join workers w on w.id = l.workload_id
  where l.seq >= (select min(first_seq) from log_segments);

update log_segments s
set begun_at = found.begun_at, late_ms = greatest(s.late_ms, found.late_ms)
from (
  select s.first_seq, min(l.stored_at) as begun_at, ceil(extract(epoch from max(l.stored_at - l.ts)) * 1000)::int8 as late_ms
  from log_segments s join log_lines l on l.seq >= s.first_seq and l.seq < s.end_seq group by s.first_seq
) as found
where found.first_seq = s.first_seq;

drop table old_log_lines;
