-- A worker that leaves so that another one gets its GPUs: the endpoint it leaves for (its own in a roll-out), and how many
-- GPUs that endpoint has with them (docs/decisions/0035-when-everything-is-full.md).
alter table workers add column yields_to text;
alter table workers add column yields_level integer;
create index workers_yielding on workers (drain_at) where yields_to is not null;
