-- A frozen worker can sleep: its GPU memory is given back, and so are its GPUs until it claims them to wake.
alter table workers
  add column sleep_method text check (sleep_method in ('HANDLER', 'URL', 'CHECKPOINT')), -- null: it cannot sleep
  add column asleep_at timestamptz,         -- since when it holds no GPU memory; null while it is awake
  add column gpus_released_at timestamptz;  -- since when its GPUs are free for others; null while it holds them

drop index workers_gpus;
create index workers_gpus on workers (gpu_pool, gpu_type_id, data_center_id, phase, wanted, gpu_count)
  where phase in ('STARTING', 'RUNNING', 'FROZEN') and gpu_pool is not null and gpus_released_at is null;

-- A worker that is thawed stays in this index until it is awake.
drop index workers_frozen;
create index workers_frozen on workers (frozen_at)
  where (wanted = 'FREEZE' or phase = 'FROZEN' or asleep_at is not null) and phase <> 'EXITED';

-- Idle workers that can give their GPUs to others.
create index workers_sleepers on workers (gpu_pool, data_center_id)
  where sleep_method is not null and wanted = 'RUN' and phase = 'RUNNING' and asleep_at is null;
