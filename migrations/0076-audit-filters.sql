-- rollback-safe: older versions run on this schema; their filter by actor takes the index of the same name.

-- Each filter of the audit log's page has an index in the page's order (docs/decisions/0115-audit-log.md).
drop index audit_entries_by_actor;
create index audit_entries_by_actor on audit_entries (actor_id, at, seq);
create index audit_entries_by_operation on audit_entries (operation, at, seq);
-- Few entries are of a refusal or a failure: what was done costs nothing here.
create index audit_entries_by_outcome on audit_entries (outcome, at, seq) where outcome <> 'done';
create index audit_entries_by_owner_outcome on audit_entries (owner_id, outcome, at, seq) where outcome <> 'done';
