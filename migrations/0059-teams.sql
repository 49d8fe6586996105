-- Teams (docs/decisions/0116-teams-are-owners.md): an account that people share. It owns records as a user does, so it is a row of users.
-- What is there today stays a person's, with the same ids.
alter table users
  add column kind text not null default 'PERSON' check (kind in ('PERSON', 'TEAM')),
  drop constraint users_role_check,
  add constraint users_role_check check (role in ('ADMIN', 'USER', 'AUDITOR', 'BILLING')),
  -- What a person may do in the installation comes from their own role, never from a team's.
  add constraint users_team_role check (kind = 'PERSON' or role = 'USER');

create table team_members (
  team_id    text not null references users on delete cascade,
  user_id    text not null references users on delete cascade,
  role       text not null check (role in ('VIEWER', 'DEVELOPER', 'OPERATOR', 'OWNER')),
  created_at timestamptz not null default now(),
  primary key (team_id, user_id),
  check (team_id <> user_id)
);
create index team_members_by_user on team_members (user_id);

-- Control removes teams and their members with what they own.
create trigger fence before insert or update or delete on team_members for each statement
  execute function refuse_former_leader();
