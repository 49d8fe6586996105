-- Fences the writes of a process that no longer leads (docs/decisions/0031-fencing.md). A process that begins to lead
-- increments the epoch, and the sessions of its control loops carry it as `podyard.epoch`. Other sessions carry none, and
-- are not affected.
create table leadership (
  id boolean primary key default true check (id),
  epoch bigint not null
);
insert into leadership (epoch) values (0);

-- The shared lock lasts until the transaction ends. Whoever increments the epoch takes it exclusively, so that no write of
-- an earlier epoch can commit afterwards. The lock is ADVISORY_LOCKS.epoch of src/db/advisory-locks.ts.
create or replace function refuse_former_leader() returns trigger language plpgsql as $$
begin
  -- Here rather than in the trigger's `when`, which is prepared anew for each statement and costs three times as much.
  if coalesce(current_setting('podyard.epoch', true), '') = '' then
    return null;
  end if;
  perform pg_advisory_xact_lock_shared(7063931);
  if current_setting('podyard.epoch')::bigint is distinct from (select epoch from leadership) then
    raise exception 'the process of epoch % no longer leads', current_setting('podyard.epoch') using errcode = 'PY001';
  end if;
  return null;
end
$$;

-- The tables that control writes. Partitions inherit nothing, so the one that is written directly is listed.
do $$
declare
  name text;
begin
  foreach name in array array[
    'endpoint_counters', 'endpoints', 'finished_jobs', 'finished_jobs_default', 'idempotency_keys', 'job_chunks', 'job_stops',
    'jobs', 'log_lines', 'lost_attempts', 'network_volumes', 'pod_runs', 'pods', 'rate_windows', 'request_demand',
    'scaling_decisions', 'settings', 'simulated_incidents', 'usage', 'usage_meter', 'volume_removals', 'webhook_deliveries',
    'worker_activity', 'worker_freezes', 'workers'
  ] loop
    execute format(
      'create trigger fence before insert or update or delete on %I for each statement
       execute function refuse_former_leader()',
      name
    );
  end loop;
end
$$;
