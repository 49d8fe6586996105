-- The models of an endpoint's newest release, as ReleaseSpec.models has them; releases of before have none.
alter table endpoints add column models jsonb not null default '[]';
