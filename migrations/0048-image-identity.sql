-- What the name of a release's image stood for when control resolved it: once, before the first worker started. Null: not yet.
alter table releases
  add column image_digest text,                -- sha256:…
  add column image_reference text,             -- what a runtime starts, so that exactly that runs
  add column image_resolved_at timestamptz,
  add column image_problem text,               -- why the image cannot be had, in one sentence
  add column image_asked_at timestamptz;       -- an update named the image again: resolve it anew, then null

create index releases_image_asked on releases (image_asked_at) where image_asked_at is not null;
