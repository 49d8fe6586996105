-- Workers that ended, for charts (docs/decisions/0050-endpoint-figures.md).

alter table history
  add column workers_ended bigint not null default 0,
  add column workers_lost  bigint not null default 0; -- of them: unexpectedly, or never started

create index workers_by_end on workers (exited_at) where phase = 'EXITED';
