import { Badge, Group, Tabs } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { type ComponentType, lazy, Suspense } from 'react';
import { useNavigate, useParams } from 'react-router';
import { api, unwrap } from '../../api/client.ts';
import { useLive } from '../../api/events.ts';
import type { EndpointSnapshot } from '../../api/live-snapshots.ts';
import { LiveBadge } from '../../ui/live-badge.tsx';
import { Loaded, Page, PageSkeleton, RowsSkeleton } from '../../ui/page.tsx';
import { EndpointLive } from './endpoint-live.tsx';
import type { EndpointTabProps } from './endpoint-tab-props.ts';

interface Tab {
  value: string;
  label: string;
  Panel: ComponentType<EndpointTabProps>;
  /** Load-balancing endpoints have no jobs. */
  isForJobs?: true;
}

const TABS: readonly Tab[] = [
  { value: 'live', label: 'Live', Panel: EndpointLive },
  {
    value: 'request',
    label: 'Request',
    Panel: lazy(async () => ({ default: (await import('./request-panel.tsx')).RequestPanel })),
  },
  {
    value: 'jobs',
    label: 'Jobs',
    Panel: lazy(async () => ({ default: (await import('./jobs.tsx')).Jobs })),
    isForJobs: true,
  },
  {
    value: 'batches',
    label: 'Batches',
    Panel: lazy(async () => ({ default: (await import('./batches.tsx')).Batches })),
    isForJobs: true,
  },
  {
    value: 'releases',
    label: 'Releases',
    Panel: lazy(async () => ({ default: (await import('./releases.tsx')).Releases })),
  },
  {
    value: 'logs',
    label: 'Logs',
    Panel: lazy(async () => ({ default: (await import('./endpoint-logs.tsx')).EndpointLogs })),
  },
  {
    value: 'decisions',
    label: 'Decisions',
    Panel: lazy(async () => ({ default: (await import('./decisions.tsx')).Decisions })),
  },
  {
    value: 'settings',
    label: 'Settings',
    Panel: lazy(async () => ({ default: (await import('./settings.tsx')).Settings })),
  },
];

export function EndpointPage() {
  const { id = '', tab = 'live' } = useParams();
  const query = useQuery({
    queryKey: ['endpoint', id],
    queryFn: () => unwrap(api.GET('/v2/serverless/{id}', { params: { path: { id } } })),
  });
  const { snapshot, isOpen } = useLive<EndpointSnapshot>(`/v2/serverless/${id}/live`);
  return (
    <Loaded query={query} skeleton={<PageSkeleton />}>
      {(endpoint) => (
        <Page
          title={endpoint.name}
          actions={
            <Group gap="xs">
              <Badge variant="default" tt="none">
                Version {snapshot?.endpointVersion ?? '…'}
              </Badge>
              <LiveBadge isOpen={isOpen} />
            </Group>
          }
        >
          <EndpointTabs endpoint={endpoint} snapshot={snapshot} tab={tab} />
        </Page>
      )}
    </Loaded>
  );
}

function EndpointTabs({ tab, ...props }: EndpointTabProps & { tab: string }) {
  const { id, name, type } = props.endpoint;
  const navigate = useNavigate();
  const tabs = TABS.filter(({ isForJobs }) => !(isForJobs && type === 'LOAD_BALANCING'));
  return (
    <Tabs
      value={tab}
      onChange={(value) => navigate(`/endpoints/${id}/${value}`, { replace: true })}
      keepMounted={false}
    >
      <Tabs.List aria-label={`Endpoint ${name}`} mb="md">
        {tabs.map(({ value, label }) => (
          <Tabs.Tab key={value} value={value}>
            {label}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      <Suspense fallback={<RowsSkeleton />}>
        {tabs.map(({ value, Panel }) => (
          <Tabs.Panel key={value} value={value}>
            <Panel {...props} />
          </Tabs.Panel>
        ))}
      </Suspense>
    </Tabs>
  );
}
