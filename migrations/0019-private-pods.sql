-- Whether the HTTP ports of a pod ask for a key (docs/decisions/0033-unknown-neighbors.md). An older version would serve private
-- pods to everybody, and does not find containers by their present names.
alter table pods add column is_private boolean not null default false;
