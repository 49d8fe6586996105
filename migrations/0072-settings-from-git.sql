-- podyard.yaml of a repository sets its endpoint (docs/decisions/0127-settings-from-git.md).

alter table git_sources
  add column apply_settings boolean not null default false; -- podyard.yaml of each commit sets the endpoint

alter table builds
  add column settings jsonb,                                -- what the endpoint takes with the image; null: nothing else
  add column meant_for text references endpoints (id) on delete set null; -- until one took its image; null: by its name
