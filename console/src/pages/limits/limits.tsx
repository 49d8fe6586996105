import { Code, Stack, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { ApiError } from '../../api/api-error.ts';
import { api, unwrap } from '../../api/client.ts';
import { Loaded, Page } from '../../ui/page.tsx';
import { type Column, RecordList } from '../../ui/tables/record-list.tsx';
import { RecordName } from '../../ui/text/record-name.tsx';
import { Bars, EditLimits } from './limit-parts.tsx';
import { limitText, type UserLimits, useText } from './limit-values.ts';

const REFRESH_MS = 10_000;

/** The user's limits with their use; for the operator, everybody's, and the defaults. */
export function LimitsPage() {
  const own = useQuery({
    queryKey: ['limits', 'own'],
    queryFn: () => unwrap(api.GET('/v2/account/limits')),
    refetchInterval: REFRESH_MS,
  });
  return (
    <Page title="Limits">
      <Loaded query={own}>{(limits) => <Bars limits={limits} />}</Loaded>
      <Text size="sm" c="dimmed" maw={760}>
        Queued jobs count over all endpoints. Each endpoint's queue has a limit of its own, which its page shows: 500
        jobs for each worker of max workers, and 50 while it is paused.
      </Text>
      <Users />
    </Page>
  );
}

const COLUMNS: Column<UserLimits>[] = [
  { title: 'Name', render: ({ name }) => <RecordName>{name}</RecordName> },
  { title: 'ID', render: ({ userId }) => <Code>{userId}</Code>, isSecondary: true },
  { title: 'Endpoints', render: ({ usage, limits }) => useText('endpoints', usage.endpoints, limits.endpoints) },
  { title: 'Pods', render: ({ usage, limits }) => useText('pods', usage.pods, limits.pods), isSecondary: true },
  {
    title: 'Queued jobs',
    render: ({ usage, limits }) => useText('queuedJobs', usage.queuedJobs, limits.queuedJobs),
    isSecondary: true,
  },
  {
    title: 'Workers',
    render: ({ usage, limits }) => useText('workers', usage.workers, limits.workers),
    isSecondary: true,
  },
  { title: 'GPUs', render: ({ usage, limits }) => useText('gpus', usage.gpus, limits.gpus) },
  { title: 'GPU quota', render: ({ quotas }) => limitText('gpuQuota', quotas.gpus.quota), isSecondary: true },
  { title: 'Borrowed', render: ({ quotas }) => quotas.gpus.borrowed, isSecondary: true },
  {
    title: 'Actions',
    width: '90px',
    render: ({ userId, name, own, limits }) => (
      <EditLimits
        title={`Limits of ${name}`}
        userId={userId}
        own={own}
        limits={limits}
        save={(body) => api.PATCH('/v2/account/users/{id}/limits', { params: { path: { id: userId } }, body })}
      />
    ),
  },
];
const idOf = ({ userId }: UserLimits) => userId;
const textOf = ({ userId, name }: UserLimits) => `${userId} ${name}`;

/** Empty for everybody but the operator. */
function Users() {
  const users = useQuery({
    queryKey: ['limits', 'users'],
    queryFn: () => unwrap(api.GET('/v2/account/users')),
    refetchInterval: ({ state }) => (state.error ? false : REFRESH_MS),
    retry: false,
  });
  if (users.error instanceof ApiError && users.error.status === 403) return null;
  return (
    <Stack gap="sm" component="section" aria-labelledby="users">
      <Title order={2} size="h4" id="users">
        Users
      </Title>
      <Loaded query={users}>
        {(all) => (
          <RecordList label="limits of users" items={all.users} columns={COLUMNS} idOf={idOf} textOf={textOf} />
        )}
      </Loaded>
      <Defaults />
    </Stack>
  );
}

function Defaults() {
  const defaults = useQuery({
    queryKey: ['limits', 'defaults'],
    queryFn: () => unwrap(api.GET('/v2/account/installation/limits')),
    retry: false,
  });
  if (!defaults.data) return null;
  const { own, limits } = defaults.data;
  return (
    <div>
      <EditLimits
        label="Edit defaults"
        title="Limits of users without their own"
        own={own}
        limits={limits}
        save={(body) => api.PATCH('/v2/account/installation/limits', { body })}
      />
    </div>
  );
}
