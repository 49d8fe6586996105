-- rollback-safe: only storage settings change.

-- As the rows of jobs: up to a page, they stay in one piece and uncompressed (docs/decisions/0070-soak-vacuum-upload.md).
alter table job_chunks set (toast_tuple_target = 8160);
