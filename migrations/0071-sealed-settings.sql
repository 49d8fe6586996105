-- Keys that the installation makes for itself, sealed with the master key as secrets are.
create table sealed_settings (
  id    text  primary key,
  value bytea not null
);
