-- What a pod starts for its user (docs/decisions/0046-public-templates-and-start-options.md). Pods that are there keep getting
-- the account's SSH keys. The password is sealed, and made at the first start that needs one.
alter table pods
  add column start_ssh boolean not null default true,
  add column start_jupyter boolean not null default false,
  add column jupyter_password bytea;

-- Null: the template says nothing about it. What GraphQL clients had stored moves to the columns.
alter table templates
  add column start_ssh boolean,
  add column start_jupyter boolean,
  add column allowed_cuda_versions text[] not null default '{}',
  add column mark text check (mark in ('OFFICIAL', 'VERIFIED')); -- set by the operator; null: none
update templates
set start_ssh = (client_settings ->> 'startSsh')::boolean,
    start_jupyter = (client_settings ->> 'startJupyter')::boolean,
    client_settings = client_settings - 'startSsh' - 'startJupyter'
where client_settings ?| array['startSsh', 'startJupyter'];

-- The catalog of public templates: marked ones first, then those used last.
create index templates_catalog on templates
  ((case mark when 'OFFICIAL' then 0 when 'VERIFIED' then 1 else 2 end), last_used_at desc nulls last, id)
  where is_public and endpoint_id is null;
