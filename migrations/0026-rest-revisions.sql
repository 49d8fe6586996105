-- The revision of the REST interface that plain `/v2` speaks to a key (docs/decisions/0042-rest-revisions.md).
alter table api_keys add column rest_revision text; -- null: the server's
