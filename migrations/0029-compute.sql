-- CPU endpoints, rules for GPUs, and what images look for (docs/decisions/0045-cpu-endpoints.md).

-- A rule for GPUs is a part of `gpu`, and so of a release: {excludedTypes, allowedCudaVersions, minCudaVersion}, absent: any.
alter table endpoints
  add column gpu_rule jsonb not null default '{}',
  add column model_references text[] not null default '{}';
update endpoints e set gpu_rule = jsonb_strip_nulls(jsonb_build_object(
  'excludedTypes', nullif(client_settings -> 'excludedGpuTypeIds', '[]'),
  'allowedCudaVersions', (
    select jsonb_agg(trim(v)) from unnest(string_to_array(client_settings ->> 'allowedCudaVersions', ',')) v
    where trim(v) ~ '^\d{1,3}(\.\d{1,3}){0,2}$'),
  'minCudaVersion', (
    select trim(v) from unnest(string_to_array(client_settings ->> 'minCudaVersion', ',')) v
    where trim(v) ~ '^\d{1,3}(\.\d{1,3}){0,2}$' limit 1)
)) where client_settings <> '{}' and gpu_pools is not null;
update releases r set spec = jsonb_set(r.spec, '{gpu}', r.spec -> 'gpu' || e.gpu_rule)
  from endpoints e where e.id = r.endpoint_id and e.gpu_rule <> '{}' and jsonb_typeof(r.spec -> 'gpu') = 'object';
update workers w set spec = jsonb_set(w.spec, '{gpu}', w.spec -> 'gpu' || e.gpu_rule)
  from endpoints e where e.id = w.endpoint_id and e.gpu_rule <> '{}' and jsonb_typeof(w.spec -> 'gpu') = 'object'
    and w.phase <> 'EXITED';
alter table endpoints drop column client_settings;

-- The selection of a CPU endpoint is a list: [{id, vcpuCount, memory}], in order of preference.
update endpoints set cpu = jsonb_build_array(cpu) where jsonb_typeof(cpu) = 'object';
update releases set spec = jsonb_set(spec, '{cpu}', jsonb_build_array(spec -> 'cpu'))
  where jsonb_typeof(spec -> 'cpu') = 'object';
-- What a worker of a CPU endpoint was given: one of the selection. Null for a GPU endpoint, and while it waits.
alter table workers add column cpu jsonb;
update workers set cpu = spec -> 'cpu', spec = jsonb_set(spec, '{cpu}', jsonb_build_array(spec -> 'cpu'))
  where jsonb_typeof(spec -> 'cpu') = 'object';
create index workers_cpu on workers (phase) where cpu is not null and phase in ('STARTING', 'RUNNING');

-- The driver's CUDA version where a pod was placed, null where unknown, and what the pod requires of it.
alter table pods
  add column gpu_rule jsonb not null default '{}', -- {allowedCudaVersions, minCudaVersion}, absent: any
  add column cuda_version text;

-- The key of a worker or pod, which it finds in RUNPOD_API_KEY: its id is that of the workload. Null for a user's own.
alter table api_keys add column workload text check (workload in ('WORKER', 'POD'));
