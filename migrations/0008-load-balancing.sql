-- Load balancing -----------------------------------------------------------------------------------------------------

alter table workers
  add column endpoint_type text not null default 'QUEUE_BASED'
             check (endpoint_type in ('QUEUE_BASED', 'LOAD_BALANCING')),  -- the row outlives its endpoint
  add column http_port     integer,            -- of a load-balancing worker: its PORT
  add column health_port   integer,            -- its PORT_HEALTH
  add column serving_at    timestamptz,        -- since when its health lets it have requests; null while it does not
  add column serving_host  text,               -- the address of http_port, as this machine reaches it
  add column serving_port  integer;
create index workers_balanced on workers (id) where endpoint_type = 'LOAD_BALANCING' and phase <> 'EXITED';

-- When a process last said that its rows of request_demand hold. It says so every few seconds while it has any.
alter table processes add column demand_seen_at timestamptz;

-- What each process has to do for a load-balancing endpoint. `workers`: id -> requests in flight, of every worker that the
-- process may send requests to, or that still has some of its. So a worker that leaves and stands in no row can be stopped.
create table request_demand (
  endpoint_id    text not null,
  process_id     text not null,
  held           integer not null,
  in_flight      integer not null,
  oldest_held_at timestamptz,
  workers        jsonb not null,
  primary key (endpoint_id, process_id)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05);
