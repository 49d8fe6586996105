import { Button, Group, NativeSelect, Select, Stack, TextInput, Title } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useMemo } from 'react';
import { useParams } from 'react-router';
import { api, unwrap } from '../../api/client.ts';
import { accountQuery } from '../../api/queries.ts';
import { useTeam } from '../../api/team.ts';
import { useSwitch } from '../../shell/account-switch.tsx';
import { DeleteButton, RemoveRecord } from '../../ui/confirm-delete.tsx';
import { CopyableId } from '../../ui/copyable-id.tsx';
import { FormButton } from '../../ui/forms/form-button.tsx';
import { Loaded, Page } from '../../ui/page.tsx';
import { type Column, RecordList } from '../../ui/tables/record-list.tsx';
import { Name } from '../../ui/text/record-name.tsx';
import { RelativeTime } from '../../ui/text/relative-time-view.tsx';
import { Status } from '../../ui/text/status.tsx';
import { visibleText } from '../../ui/text/visible-text.ts';
import {
  type Member,
  roleLabel,
  roleSummary,
  TEAM_ROLES,
  TEAM_STATES,
  type Team,
  type TeamRole,
} from './team-values.ts';

const REFRESH_MS = 10_000;
const PARENT = { to: '/teams', label: 'Teams' };
/** Owners first. */
const ROLE_ORDER = TEAM_ROLES.map(({ value }) => value).toReversed();

/** One team with its members, and what its owners and admins can do about them. */
export function TeamPage() {
  const { id = '' } = useParams();
  const query = useQuery({
    queryKey: ['teams', id],
    queryFn: () => unwrap(api.GET('/v2/teams/{id}', { params: { path: { id } } })),
    refetchInterval: ({ state }) => (state.error ? false : REFRESH_MS),
  });
  const { data } = query;
  const isAdmin = useQuery(accountQuery).data?.role === 'ADMIN';
  const mayManage = data !== undefined && data.status === 'ACTIVE' && (isAdmin || data.role === 'OWNER');
  return (
    <Page
      title={data?.name ?? 'Team'}
      parents={[PARENT]}
      status={data && <Status table={TEAM_STATES} value={data.status} />}
      description={data && <Facts team={data} />}
      actions={data && <Actions team={data} isAdmin={isAdmin} mayManage={mayManage} />}
    >
      <Loaded query={query} parent={PARENT}>
        {(team) => <Members team={team} mayManage={mayManage} />}
      </Loaded>
    </Page>
  );
}

function Facts({ team: { id, role, createdAt } }: { team: Team }) {
  return (
    <Group gap="md">
      <CopyableId id={id} />
      <span>{roleLabel(role)}</span>
      <span>
        Created <RelativeTime at={createdAt} />
      </span>
    </Group>
  );
}

function Actions({ team, isAdmin, mayManage }: { team: Team; isAdmin: boolean; mayManage: boolean }) {
  const { id, name, role, status } = team;
  const params = { path: { id } };
  const act = useSwitch();
  const isActing = useTeam() === id;
  return (
    <>
      {role !== null && status === 'ACTIVE' && !isActing && <Button onClick={() => act(id)}>Work for this team</Button>}
      {mayManage && isAdmin && (
        <FormButton
          label="Rename"
          title={`Rename ${name}`}
          submitLabel="Save"
          isPlain
          recordId={params.path.id}
          queryKey="teams"
          initial={{ name }}
          onSubmit={(values) => unwrap(api.PATCH('/v2/teams/{id}', { params, body: { name: values.name.trim() } }))}
        >
          {(form) => <TextInput label="Name" autoComplete="off" data-autofocus {...form.getInputProps('name')} />}
        </FormButton>
      )}
      {mayManage && (
        <RemoveRecord
          what="team"
          name={name}
          consequence="The team must own nothing. Its keys are refused at once."
          queryKey="teams"
          onConfirm={() => unwrap(api.DELETE('/v2/teams/{id}', { params }))}
          to="/teams"
        />
      )}
    </>
  );
}

function Members({ team, mayManage }: { team: Team; mayManage: boolean }) {
  const query = useQuery({
    queryKey: ['teams', team.id, 'members'],
    queryFn: () => unwrap(api.GET('/v2/teams/{id}/members', { params: { path: { id: team.id } } })),
  });
  const columns = useMemo(() => columnsOf(team, mayManage), [team, mayManage]);
  return (
    <Stack gap="sm">
      <Group justify="space-between">
        <Title order={2} size="h4">
          Members
        </Title>
        {mayManage && <AddMember team={team} />}
      </Group>
      <Loaded query={query}>
        {({ members }) => (
          <RecordList
            label="members"
            items={members}
            columns={columns}
            idOf={({ userId }) => userId}
            textOf={({ userId, name, role }) => `${userId} ${name} ${roleLabel(role)}`}
            defaultSort="name"
            rowHeight={48}
            aboveRem={18}
          />
        )}
      </Loaded>
    </Stack>
  );
}

function columnsOf(team: Team, mayManage: boolean): Column<Member>[] {
  return [
    {
      title: 'Name',
      sortKey: 'name',
      sortValue: ({ name }) => name,
      render: ({ name, isSuspended }) => (
        <span className="anywhere">
          <Name>{name}</Name>
          {isSuspended && ' (suspended)'}
        </span>
      ),
    },
    {
      title: 'Role',
      width: '220px',
      sortKey: 'role',
      sortValue: ({ role }) => ROLE_ORDER.indexOf(role),
      render: (member) => (mayManage ? <RoleSelect team={team} member={member} /> : roleLabel(member.role)),
    },
    {
      title: 'Joined',
      sortKey: 'joined',
      sortValue: ({ joinedAt }) => Date.parse(joinedAt),
      render: ({ joinedAt }) => <RelativeTime at={joinedAt} />,
    },
    ...(mayManage
      ? [{ title: 'Actions', width: '90px', render: (member: Member) => <Leave team={team} member={member} /> }]
      : []),
  ];
}

function RoleSelect({ team, member: { userId, name, role } }: { team: Team; member: Member }) {
  const queries = useQueryClient();
  const params = { path: { id: team.id, userId } };
  const change = useMutation({
    mutationFn: (to: TeamRole) => unwrap(api.PATCH('/v2/teams/{id}/members/{userId}', { params, body: { role: to } })),
    onSettled: () => queries.invalidateQueries({ queryKey: ['teams'] }),
  });
  return (
    <NativeSelect
      size="xs"
      maw={200}
      aria-label={visibleText(`Role of ${name}`)}
      value={role}
      disabled={change.isPending}
      data={TEAM_ROLES.map(({ value, label }) => ({ value, label }))}
      onChange={(event) => change.mutate(event.currentTarget.value as TeamRole)}
    />
  );
}

function Leave({ team, member: { userId, name } }: { team: Team; member: Member }) {
  const params = { path: { id: team.id, userId } };
  return (
    <DeleteButton
      what="membership"
      name={name}
      consequence="What they have open for the team ends within seconds. Keys of the team stay."
      queryKey="teams"
      onConfirm={() => unwrap(api.DELETE('/v2/teams/{id}/members/{userId}', { params }))}
    />
  );
}

function AddMember({ team: { id, name } }: { team: Team }) {
  return (
    <FormButton
      label="Add member"
      title={`Add a member to ${name}`}
      submitLabel="Add"
      queryKey="teams"
      recordId={id}
      initial={{ userId: '', role: 'VIEWER' as string }}
      summary={({ role }) => roleSummary(role as TeamRole)}
      onSubmit={(values) => {
        const body = { userId: values.userId.trim(), role: values.role as TeamRole };
        return unwrap(api.POST('/v2/teams/{id}/members', { params: { path: { id } }, body }));
      }}
    >
      {(form) => (
        <>
          <TextInput
            label="User id"
            description="The person finds theirs on the page Teams while they have no team, or with “podyard teams whoami”."
            required
            autoComplete="off"
            data-autofocus
            {...form.getInputProps('userId')}
          />
          <Select
            label="Role"
            data={TEAM_ROLES.map(({ value, label }) => ({ value, label }))}
            allowDeselect={false}
            {...form.getInputProps('role')}
          />
        </>
      )}
    </FormButton>
  );
}
