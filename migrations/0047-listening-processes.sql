-- The backend of the connection over which a process receives hints: once it is gone, so is the process, or it is about to
-- connect again. Null: unknown, of an earlier version.
alter table processes add column listener_pid int;
