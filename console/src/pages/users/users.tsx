import { Select, TextInput } from '@mantine/core';
import { IconUsers } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, unwrap } from '../../api/client.ts';
import { FormButton } from '../../ui/forms/form-button.tsx';
import { Hint } from '../../ui/hint.tsx';
import { type Column, RecordPage } from '../../ui/tables/record-page.tsx';
import { formatNumber } from '../../ui/text/format.ts';
import { enumLabel } from '../../ui/text/labels.ts';
import { RecordLink } from '../../ui/text/record-name.tsx';
import { RelativeTime } from '../../ui/text/relative-time-view.tsx';
import { Status } from '../../ui/text/status.tsx';
import { visibleText } from '../../ui/text/visible-text.ts';
import { CreatedKey } from '../keys/new-key.tsx';
import { Use } from '../limits/limit-parts.tsx';
import { useText } from '../limits/limit-values.ts';
import { NEW_USER, newUserBody, ROLES, roleText, stateOf, USER_STATES, type User, userSummary } from './user-values.ts';
import { usersQuery } from './users-query.ts';

const REFRESH_MS = 10_000;

const STATE_ORDER = Object.keys(USER_STATES);
const STATES = { table: USER_STATES, of: stateOf };
const COLUMNS: Column<User>[] = [
  {
    title: 'Name',
    sortKey: 'name',
    sortValue: ({ name }) => name,
    render: (user) => <NameCell user={user} />,
  },
  {
    title: 'State',
    sortKey: 'state',
    sortValue: (user) => STATE_ORDER.indexOf(stateOf(user)),
    render: (user) => <Status table={USER_STATES} value={stateOf(user)} />,
  },
  { title: 'Role', sortKey: 'role', sortValue: ({ role }) => roleText(role), render: ({ role }) => roleText(role) },
  ...(['endpoints', 'pods', 'workers', 'gpus'] as const).map(usageColumn),
  {
    title: 'Keys',
    isWide: true,
    isNumber: true,
    sortKey: 'keys',
    sortValue: ({ apiKeys }) => apiKeys,
    render: ({ apiKeys }) => formatNumber(apiKeys),
  },
  {
    title: 'Last used',
    sortKey: 'used',
    sortValue: ({ lastUsedAt }) => (lastUsedAt ? Date.parse(lastUsedAt) : null),
    render: ({ lastUsedAt }) => (lastUsedAt ? <RelativeTime at={lastUsedAt} /> : 'Never'),
  },
];
const idOf = ({ userId }: User) => userId;
const linkOf = ({ userId }: User) => `/users/${userId}`;
const textOf = (user: User) => `${user.userId} ${user.name} ${user.email ?? ''} ${USER_STATES[stateOf(user)].label}`;

/** For admins; everybody else gets the server's 403. */
export function UsersPage() {
  const [secret, setSecret] = useState<string | null>(null);
  const query = useQuery({ ...usersQuery, refetchInterval: ({ state }) => (state.error ? false : REFRESH_MS) });
  return (
    <RecordPage
      title="Users"
      action={<NewUser onCreated={setSecret} />}
      query={query}
      empty={{
        icon: IconUsers,
        title: 'No users yet',
        text: 'Each user has their own endpoints, pods, keys and limits.',
      }}
      label="users"
      columns={COLUMNS}
      idOf={idOf}
      textOf={textOf}
      linkOf={linkOf}
      states={STATES}
      defaultSort="state"
      rowHeight={54}
    >
      <CreatedKey secret={secret} title="User created: their first key" onClose={() => setSecret(null)} />
    </RecordPage>
  );
}

function NameCell({ user: { userId, name, email } }: { user: User }) {
  return (
    <>
      <RecordLink to={`/users/${userId}`} name={name} />
      {email && (
        <Hint size="xs">
          <span className="record-name">{visibleText(email)}</span>
        </Hint>
      )}
    </>
  );
}

function usageColumn(name: 'endpoints' | 'pods' | 'workers' | 'gpus'): Column<User> {
  return {
    title: name === 'gpus' ? 'GPUs' : enumLabel(name),
    isNumber: true,
    isWide: name === 'gpus',
    sortKey: name,
    sortValue: ({ usage }) => usage[name],
    render: ({ usage, limits }) => <Use text={useText(name, usage[name], limits[name])} />,
  };
}

function NewUser({ onCreated }: { onCreated: (secret: string) => void }) {
  return (
    <FormButton
      label="New user"
      title="New user"
      queryKey="users"
      summary={userSummary}
      initial={NEW_USER}
      onSubmit={async (values) => {
        const { key } = await unwrap(api.POST('/v2/account/users', { body: newUserBody(values) }));
        if (key) onCreated(key.secret);
      }}
    >
      {(form) => (
        <>
          <TextInput label="Name" required autoComplete="off" data-autofocus {...form.getInputProps('name')} />
          <TextInput label="Email" autoComplete="off" {...form.getInputProps('email')} />
          <Select label="Role" data={ROLES} allowDeselect={false} {...form.getInputProps('role')} />
        </>
      )}
    </FormButton>
  );
}
