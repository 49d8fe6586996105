import { TextInput } from '@mantine/core';
import { IconUsersGroup } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { api, unwrap } from '../../api/client.ts';
import { accountQuery } from '../../api/queries.ts';
import { FormButton } from '../../ui/forms/form-button.tsx';
import { type Column, RecordPage } from '../../ui/tables/record-page.tsx';
import { formatNumber } from '../../ui/text/format.ts';
import { RecordLink } from '../../ui/text/record-name.tsx';
import { RelativeTime } from '../../ui/text/relative-time-view.tsx';
import { Status } from '../../ui/text/status.tsx';
import { roleLabel, TEAM_STATES, type Team } from './team-values.ts';

const REFRESH_MS = 10_000;
const STATE_ORDER = Object.keys(TEAM_STATES);
const STATES = { table: TEAM_STATES, of: ({ status }: Team) => status };
const COLUMNS: Column<Team>[] = [
  {
    title: 'Name',
    sortKey: 'name',
    sortValue: ({ name }) => name,
    render: ({ id, name }) => <RecordLink to={`/teams/${id}`} name={name} />,
  },
  {
    title: 'State',
    sortKey: 'state',
    sortValue: ({ status }) => STATE_ORDER.indexOf(status),
    render: ({ status }) => <Status table={TEAM_STATES} value={status} />,
  },
  {
    title: 'Your role',
    sortKey: 'role',
    sortValue: ({ role }) => roleLabel(role),
    render: ({ role }) => roleLabel(role),
  },
  {
    title: 'Members',
    isNumber: true,
    width: '110px',
    sortKey: 'members',
    sortValue: ({ members }) => members,
    render: ({ members }) => formatNumber(members),
  },
  {
    title: 'Created',
    sortKey: 'created',
    sortValue: ({ createdAt }) => Date.parse(createdAt),
    render: ({ createdAt }) => <RelativeTime at={createdAt} />,
  },
];
const idOf = ({ id }: Team) => id;
const linkOf = ({ id }: Team) => `/teams/${id}`;
const textOf = ({ id, name, status }: Team) => `${id} ${name} ${TEAM_STATES[status].label}`;

/** The teams of the signed-in user; admins see every team. */
export function TeamsPage() {
  const { id, role } = useQuery(accountQuery).data ?? {};
  const isReader = role === 'ADMIN' || role === 'AUDITOR';
  const query = useQuery({
    queryKey: ['teams', 'list', isReader],
    queryFn: async () => (await unwrap(api.GET('/v2/teams', { params: { query: { all: isReader } } }))).teams,
    enabled: role !== undefined,
    refetchInterval: ({ state }) => (state.error ? false : REFRESH_MS),
  });
  return (
    <RecordPage
      title="Teams"
      action={role === 'ADMIN' ? <NewTeam /> : null}
      query={query}
      empty={{
        icon: IconUsersGroup,
        title: 'No teams yet',
        text: `A team shares endpoints, pods and secrets. An owner adds you by your id${id ? `: ${id}` : ''}.`,
      }}
      label="teams"
      columns={COLUMNS}
      idOf={idOf}
      textOf={textOf}
      linkOf={linkOf}
      states={STATES}
      defaultSort="state"
    />
  );
}

function NewTeam() {
  return (
    <FormButton
      label="New team"
      title="New team"
      queryKey="teams"
      initial={{ name: '' }}
      onSubmit={({ name }) => unwrap(api.POST('/v2/teams', { body: { name: name.trim() } }))}
    >
      {(form) => (
        <TextInput
          label="Name"
          description="You are its first owner. No user and no other team has this name."
          required
          autoComplete="off"
          data-autofocus
          {...form.getInputProps('name')}
        />
      )}
    </FormButton>
  );
}
