import { Group, Stack, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { ApiError } from '../../api/api-error.ts';
import { api, unwrap } from '../../api/client.ts';
import { Hint } from '../../ui/hint.tsx';
import { Loaded, Page } from '../../ui/page.tsx';
import { type Column, RecordList } from '../../ui/tables/record-list.tsx';
import { formatNumber } from '../../ui/text/format.ts';
import { RecordLink } from '../../ui/text/record-name.tsx';
import { Status } from '../../ui/text/status.tsx';
import { Bars, EditLimits, Use } from './limit-parts.tsx';
import { LIMIT_STATES, LIMITS, limitBars, limitState, limitText, type UserLimits, useText } from './limit-values.ts';

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

const STATE_ORDER = Object.keys(LIMIT_STATES);
const STATES = { table: LIMIT_STATES, of: limitState };
const COLUMNS: Column<UserLimits>[] = [
  {
    title: 'Name',
    sortKey: 'name',
    sortValue: ({ name }) => name,
    render: ({ userId, name }) => <RecordLink to={`/users/${userId}`} name={name} />,
  },
  {
    title: 'State',
    sortKey: 'state',
    sortValue: (user) => STATE_ORDER.indexOf(limitState(user)),
    render: (user) => <StateCell user={user} />,
  },
  ...(['endpoints', 'pods', 'queuedJobs', 'workers', 'gpus'] as const).map(usageColumn),
  {
    title: 'GPU quota',
    isNumber: true,
    isWide: true,
    render: ({ quotas }) => limitText('gpuQuota', quotas.gpus.quota),
  },
  {
    title: 'Borrowed',
    isWide: true,
    isNumber: true,
    sortKey: 'borrowed',
    sortValue: ({ quotas }) => quotas.gpus.borrowed,
    render: ({ quotas }) => formatNumber(quotas.gpus.borrowed),
  },
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

function usageColumn(name: 'endpoints' | 'pods' | 'queuedJobs' | 'workers' | 'gpus'): Column<UserLimits> {
  return {
    title: name === 'gpus' ? 'GPUs' : name === 'queuedJobs' ? 'Queued jobs' : LIMITS[name].label.split(' ')[0]!,
    isNumber: true,
    isWide: name === 'queuedJobs',
    sortKey: name,
    sortValue: ({ usage }) => usage[name],
    render: ({ usage, limits }) => <Use text={useText(name, usage[name], limits[name])} />,
  };
}

/** The limits that are reached stand below the state. */
function StateCell({ user }: { user: UserLimits }) {
  const full = limitBars(user).filter(({ isFull }) => isFull);
  return (
    <>
      <Status table={LIMIT_STATES} value={limitState(user)} />
      {full.length > 0 && <Hint size="xs">{full.map(({ label }) => label).join(', ')}</Hint>}
    </>
  );
}

const idOf = ({ userId }: UserLimits) => userId;
const linkOf = ({ userId }: UserLimits) => `/users/${userId}`;
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
      <Group justify="space-between">
        <Title order={2} size="h4" id="users">
          Users
        </Title>
        <Defaults />
      </Group>
      <Loaded query={users}>
        {(all) => (
          <RecordList
            label="limits of users"
            items={all.users}
            columns={COLUMNS}
            idOf={idOf}
            textOf={textOf}
            linkOf={linkOf}
            states={STATES}
            defaultSort="state"
            rowHeight={54}
          />
        )}
      </Loaded>
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
    <EditLimits
      label="Edit defaults"
      title="Limits of users without their own"
      own={own}
      limits={limits}
      save={(body) => api.PATCH('/v2/account/installation/limits', { body })}
    />
  );
}
