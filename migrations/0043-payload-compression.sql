-- rollback-safe: only storage settings change.

-- Payloads of more than a page are compressed with lz4, or not at all where the server lacks it, as the embedded one does: pglz,
-- PostgreSQL's default, takes up to four times the CPU of everything else that is done for a job (docs/decisions/0072-payloads.md).
-- What is stored already stays as it is.
do $$
declare
  has_lz4 constant boolean :=
    exists (select from pg_settings where name = 'default_toast_compression' and 'lz4' = any (enumvals));
  payload record;
begin
  for payload in
    select * from (values
      ('jobs', 'input'), ('jobs', 'progress'),
      ('finished_jobs', 'input'), ('finished_jobs', 'output'), ('finished_jobs', 'error'),
      ('finished_jobs_default', 'input'), ('finished_jobs_default', 'output'), ('finished_jobs_default', 'error'),
      ('job_chunks', 'chunk'),
      ('batch_requests', 'input'), ('batch_results', 'output'), ('batch_results', 'error')
    ) as p(of_table, name)
  loop
    execute format('alter table %I alter column %I set %s', payload.of_table, payload.name,
                   case when has_lz4 then 'compression lz4' else 'storage external' end);
  end loop;
end $$;
