-- podyard.yaml of a repository sets its endpoint (docs/decisions/0127-settings-from-git.md).

alter table git_sources
  add column apply_settings boolean not null default false; -- podyard.yaml of each commit sets the endpoint

alter table builds
  add column settings jsonb;                                -- what the endpoint takes with the image; null: nothing else
