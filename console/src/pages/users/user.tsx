import { Alert, Group, Stack, Text, Title } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useNavigate, useParams } from 'react-router';
import { ApiError } from '../../api/api-error.ts';
import { api, unwrap } from '../../api/client.ts';
import { CopyableId } from '../../ui/copyable-id.tsx';
import { Loaded, Page } from '../../ui/page.tsx';
import { Name } from '../../ui/text/record-name.tsx';
import { RelativeTime } from '../../ui/text/relative-time-view.tsx';
import { Status } from '../../ui/text/status.tsx';
import { visibleText } from '../../ui/text/visible-text.ts';
import { KeyChanges } from '../keys/change-key.tsx';
import { KeyList } from '../keys/key-list.tsx';
import { CreatedKey, NewKey } from '../keys/new-key.tsx';
import { Sessions } from '../keys/session-list.tsx';
import { Bars, EditLimits } from '../limits/limit-parts.tsx';
import { Invitation } from './invitation.tsx';
import { EditRate, EditUser, RemoveUser, SuspendButton } from './user-actions.tsx';
import { countsText, roleText, stateOf, USER_STATES, type User } from './user-values.ts';

const REFRESH_MS = 3_000;
const PARENT = { to: '/users', label: 'Users' };

/** One user: their state, limits and keys, and what an admin can do about them. */
export function UserPage() {
  const { id = '' } = useParams();
  const query = useQuery({
    queryKey: ['users', id],
    queryFn: () => unwrap(api.GET('/v2/account/users/{id}', { params: { path: { id } } })),
    refetchInterval: ({ state }) => (state.error ? false : REFRESH_MS),
  });
  const { data, error } = query;
  if (data && error instanceof ApiError && error.status === 404) return <Deleted name={data.name} />;
  return (
    <Page
      title={data?.name ?? 'User'}
      parents={[PARENT]}
      status={data && <Status table={USER_STATES} value={stateOf(data)} />}
      description={data && <Facts user={data} />}
      actions={data && !data.removal && <Actions user={data} />}
    >
      <Loaded query={query} parent={PARENT}>
        {(user) => (
          <Stack gap="lg">
            <Notice user={user} />
            <Bars limits={user} />
            <Keys id={id} />
            {user.removal === null && <Invitation user={user} />}
            <Sessions userId={id} />
          </Stack>
        )}
      </Loaded>
    </Page>
  );
}

function Deleted({ name }: { name: string }) {
  return (
    <Page title={name} parents={[PARENT]}>
      <Alert color="teal" role="status">
        <Text fw={600} className="anywhere">
          <Name>{name}</Name> is deleted
        </Text>
        <Text size="sm">Nothing of theirs is left, except what they used, in the books.</Text>
      </Alert>
    </Page>
  );
}

function Facts({ user: { userId, role, email, createdAt, lastUsedAt } }: { user: User }) {
  return (
    <Group gap="md">
      <CopyableId id={userId} />
      <span>{roleText(role)}</span>
      {email && <Name>{email}</Name>}
      <span>
        Created <RelativeTime at={createdAt} />
      </span>
      <span>
        {lastUsedAt ? (
          <>
            Last used a key <RelativeTime at={lastUsedAt} />
          </>
        ) : (
          'Never used a key'
        )}
      </span>
    </Group>
  );
}

function Actions({ user }: { user: User }) {
  const { userId, name, own, limits } = user;
  const navigate = useNavigate();
  return (
    <>
      <EditUser user={user} />
      <EditLimits
        label="Limits"
        isPlain
        title={`Limits of ${name}`}
        userId={userId}
        own={own}
        limits={limits}
        queryKey="users"
        save={(body) => api.PATCH('/v2/account/users/{id}/limits', { params: { path: { id: userId } }, body })}
      />
      <EditRate user={user} />
      <SuspendButton user={user} />
      <RemoveUser user={user} onDone={() => navigate(`/users/${userId}`)} />
    </>
  );
}

/** Why keys are refused, or what of a deletion is left. */
function Notice({ user: { suspension, removal } }: { user: User }) {
  if (removal) {
    return (
      <Alert color="orange" role="status">
        <Text fw={600}>Being deleted</Text>
        <Text size="sm">
          Requested <RelativeTime at={removal.since} />. Left:{' '}
          {countsText(removal.remaining) ?? 'the last minute of usage to be metered'}.
        </Text>
      </Alert>
    );
  }
  if (!suspension) return null;
  return (
    <Alert color="orange" role="status">
      <Text fw={600}>Suspended: all keys are refused</Text>
      <Text size="sm">
        <RelativeTime at={suspension.since} />
        {suspension.by && ` by ${visibleText(suspension.by)}`}
        {suspension.reason && `: ${visibleText(suspension.reason)}`}.{' '}
        {suspension.workloads === 'STOP'
          ? 'Endpoints are scaled to zero, pods are stopped.'
          : 'What runs keeps running.'}
      </Text>
    </Alert>
  );
}

function Keys({ id }: { id: string }) {
  const [secret, setSecret] = useState<string | null>(null);
  const queries = useQueryClient();
  const path = { path: { id } };
  const query = useQuery({
    queryKey: ['users', id, 'keys'],
    queryFn: () => unwrap(api.GET('/v2/account/users/{id}/api-keys', { params: path })),
  });
  return (
    <Stack gap="sm" component="section" aria-labelledby="keys">
      <Group justify="space-between">
        <Title order={2} size="h4" id="keys">
          Keys
        </Title>
        <NewKey
          isOwn={false}
          queryKey="users"
          create={(body) => unwrap(api.POST('/v2/account/users/{id}/api-keys', { params: path, body }))}
          onCreated={setSecret}
        />
      </Group>
      <Loaded query={query}>
        {({ apiKeys }) =>
          apiKeys.length === 0 ? (
            <Text c="dimmed">This user has no keys.</Text>
          ) : (
            <KeyList
              keys={apiKeys}
              queryKey="users"
              changes={(key) => <KeyChanges apiKey={key} onCreated={setSecret} userId={id} />}
              revoke={async (keyId) => {
                const params = { path: { id, keyId } };
                await unwrap(api.DELETE('/v2/account/users/{id}/api-keys/{keyId}', { params }));
                await queries.invalidateQueries({ queryKey: ['users', id] });
              }}
            />
          )
        }
      </Loaded>
      <CreatedKey secret={secret} onClose={() => setSecret(null)} />
    </Stack>
  );
}
