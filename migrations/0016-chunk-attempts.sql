-- Which attempt sent a chunk: one that a lost attempt sends while its job is requeued must not show in the next one's
-- stream. Null: sent by a version that did not record it.

alter table job_chunks add column worker_id text, add column attempt integer;
