-- What clients of the GraphQL interface keep with a record ------------------------------------------------------------

-- Accepted, kept and answered; nothing here acts upon it. The shapes are TemplateClientSettings and EndpointClientSettings.
alter table templates add column client_settings jsonb not null default '{}';
alter table endpoints add column client_settings jsonb not null default '{}';

-- A template that was given inside an endpoint belongs to it and goes with it. No foreign key: an endpoint is deleted
-- in the same transaction as its template, in whichever order.
alter table templates add column endpoint_id text;
create index templates_by_endpoint on templates (endpoint_id) where endpoint_id is not null;

-- SSH public keys of the user, one a line.
alter table users add column public_keys text not null default '';
