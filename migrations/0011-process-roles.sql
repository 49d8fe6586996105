-- What each process does: those that serve the data plane share its limits, and some hints are for them alone. Processes
-- of an older version, which do not say, do everything.
alter table processes add column roles text[] not null default '{api,data,control}';
