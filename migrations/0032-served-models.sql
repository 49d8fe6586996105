-- What the workers of an endpoint last answered to GET /v1/models, so that `model` in a call to /openai/v1 finds its endpoint and
-- a list of models starts no worker. The data plane writes it; control only deletes it, with the endpoint.
create table served_models (
  endpoint_id  text primary key references endpoints on delete cascade,
  version      integer not null,  -- the endpoint's newest release at that time: another one may serve other models
  models       text[] not null,   -- their ids, in the worker's order
  listed_at    timestamptz not null default now()
);
