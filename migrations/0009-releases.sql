-- Roll-outs ----------------------------------------------------------------------------------------------------------

-- While it is true no worker leaves for being outdated.
alter table endpoints add column is_rollout_paused boolean not null default false;
