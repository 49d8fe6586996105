-- Credentials with which a build pulls: ids of registries, by the host of each.
alter table builds add column registries jsonb not null default '{}';
