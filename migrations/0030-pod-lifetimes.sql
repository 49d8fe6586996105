-- When a pod is stopped and terminated without another request, and why that was done
-- (docs/decisions/0047-graphql-stays.md).
alter table pods
  add column stop_at timestamptz,
  add column terminate_at timestamptz,
  add column wanted_reason text; -- null: its user wanted it
create index pods_stop_at on pods (stop_at) where stop_at is not null and wanted <> 'TERMINATE';
create index pods_terminate_at on pods (terminate_at) where terminate_at is not null and wanted <> 'TERMINATE';
