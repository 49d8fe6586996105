-- The level of a log line, recognized when it is stored (src/domain/logs/log-level.ts): 1 debug, 2 info, 3 warning, 4 error.
-- Null: none was recognized, or the line is older than this column.
alter table log_lines add column level smallint;
