-- rollback-safe: older versions run on this schema; they read the deliveries without their index.

-- A URL's host and port, in lower case and without its user: as long as a name may be, so that any URL fits into the index.
create or replace function webhook_host(url text) returns text language sql immutable strict parallel safe
return left(coalesce(substring(lower(url) from '^[a-z]+:[/\\]*(?:[^/\\?#]*@)?([^/\\?#]*)'), ''), 255);

-- Deliveries of an endpoint to a host wait in a queue of their own: a long one is passed over without being read.
create index webhook_deliveries_queues on webhook_deliveries (endpoint_id, webhook_host(url), next_at);
drop index webhook_deliveries_due;
