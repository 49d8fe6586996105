-- rollback-safe: only storage settings change.

-- Each take walks over the entries that earlier takes left at the head of jobs_queue, until a vacuum removes them. With a
-- million jobs queued, vacuum came after 100,000 takes, and then skipped the indexes if the taken jobs were in less than 2 % of
-- the pages (docs/decisions/0060-large-backlogs.md).
alter table jobs set (autovacuum_vacuum_scale_factor = 0.02, vacuum_index_cleanup = on);
