import { Button, Group, NativeSelect, Select, Stack, Table, TextInput, Title } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useParams } from 'react-router';
import { api, unwrap } from '../../api/client.ts';
import { accountQuery } from '../../api/queries.ts';
import { useTeam } from '../../api/team.ts';
import { useSwitch } from '../../shell/account-switch.tsx';
import { DeleteButton, RemoveRecord } from '../../ui/confirm-delete.tsx';
import { CopyableId } from '../../ui/copyable-id.tsx';
import { FormButton } from '../../ui/forms/form-button.tsx';
import { Loaded, Page } from '../../ui/page.tsx';
import { SmallTable } from '../../ui/tables/small-table.tsx';
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
const TITLES = ['Name', 'Role', 'Joined', 'Actions'];

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
          <SmallTable
            label="Members"
            titles={mayManage ? TITLES : TITLES.slice(0, 3)}
            minWidth={480}
            isFocusable={!mayManage}
          >
            {members.map((member) => (
              <MemberRow key={member.userId} team={team} member={member} mayManage={mayManage} />
            ))}
          </SmallTable>
        )}
      </Loaded>
    </Stack>
  );
}

function MemberRow({ team, member, mayManage }: { team: Team; member: Member; mayManage: boolean }) {
  const { userId, name, role, joinedAt, isSuspended } = member;
  const queries = useQueryClient();
  const params = { path: { id: team.id, userId } };
  const change = useMutation({
    mutationFn: (to: TeamRole) => unwrap(api.PATCH('/v2/teams/{id}/members/{userId}', { params, body: { role: to } })),
    onSettled: () => queries.invalidateQueries({ queryKey: ['teams'] }),
  });
  return (
    <Table.Tr>
      <Table.Td>
        <Name>{name}</Name>
        {isSuspended && ' (suspended)'}
      </Table.Td>
      <Table.Td>
        {mayManage ? (
          <NativeSelect
            size="xs"
            maw={200}
            aria-label={visibleText(`Role of ${name}`)}
            value={role}
            disabled={change.isPending}
            data={TEAM_ROLES.map(({ value, label }) => ({ value, label }))}
            onChange={(event) => change.mutate(event.currentTarget.value as TeamRole)}
          />
        ) : (
          roleLabel(role)
        )}
      </Table.Td>
      <Table.Td>
        <RelativeTime at={joinedAt} />
      </Table.Td>
      {mayManage && (
        <Table.Td>
          <DeleteButton
            what="membership"
            name={name}
            consequence="What they have open for the team ends within seconds. Keys of the team stay."
            queryKey="teams"
            onConfirm={() => unwrap(api.DELETE('/v2/teams/{id}/members/{userId}', { params }))}
          />
        </Table.Td>
      )}
    </Table.Tr>
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
