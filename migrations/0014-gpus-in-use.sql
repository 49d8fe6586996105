-- What GPUs workers hold is added up whenever one is placed: of this index alone, however many workers there are. All of
-- it is key, not `include`, so that equal entries are kept once.

create index workers_gpus on workers (gpu_pool, data_center_id, phase, wanted, gpu_count)
  where phase in ('STARTING', 'RUNNING', 'FROZEN') and gpu_pool is not null;
