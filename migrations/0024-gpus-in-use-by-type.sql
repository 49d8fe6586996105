-- rollback-safe: only an index changes; older versions add up GPUs of it as before, by pool.

-- A pool may have GPUs of several types, and an endpoint may exclude some of them, so that the GPUs in use are added up by
-- type, too: of this index alone, as in 0014.

drop index workers_gpus;
create index workers_gpus on workers (gpu_pool, gpu_type_id, data_center_id, phase, wanted, gpu_count)
  where phase in ('STARTING', 'RUNNING', 'FROZEN') and gpu_pool is not null;
