-- The last webhook of an endpoint that was not sent because its name stands for an address that webhooks may not reach
-- (docs/decisions/0076-where-webhooks-go.md). Shown with the endpoint for an hour.
create table webhook_refusals (
  endpoint_id text primary key references endpoints on delete cascade,
  reason      text not null,
  refused_at  timestamptz not null default now()
);
create trigger fence before insert or update or delete on webhook_refusals for each statement
execute function refuse_former_leader();
