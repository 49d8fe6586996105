import { Badge, Group, Tabs } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { lazy, Suspense } from 'react';
import { useNavigate, useParams } from 'react-router';
import { api, unwrap } from '../../api/client.ts';
import { useLive } from '../../api/events.ts';
import type { EndpointSnapshot } from '../../api/live-types.ts';
import { Loaded, Page, PageSkeleton, RowsSkeleton } from '../../ui/page.tsx';
import { EndpointLive } from './endpoint-live.tsx';

const Requests = lazy(async () => ({ default: (await import('./request-panel.tsx')).RequestPanel }));
const Releases = lazy(async () => ({ default: (await import('./releases.tsx')).Releases }));
const Logs = lazy(async () => ({ default: (await import('./endpoint-logs.tsx')).EndpointLogs }));
const Decisions = lazy(async () => ({ default: (await import('./decisions.tsx')).Decisions }));
const Settings = lazy(async () => ({ default: (await import('./settings.tsx')).Settings }));

const TABS = [
  { value: 'live', label: 'Live' },
  { value: 'request', label: 'Request' },
  { value: 'releases', label: 'Releases' },
  { value: 'logs', label: 'Logs' },
  { value: 'decisions', label: 'Decisions' },
  { value: 'settings', label: 'Settings' },
];

export function EndpointPage() {
  const { id = '', tab = 'live' } = useParams();
  const navigate = useNavigate();
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
                version {snapshot?.endpointVersion ?? '…'}
              </Badge>
              <Badge variant="dot" color={isOpen ? 'green' : 'gray'} tt="none">
                {isOpen ? 'live' : 'connecting'}
              </Badge>
            </Group>
          }
        >
          <Tabs
            value={tab}
            onChange={(value) => navigate(`/endpoints/${id}/${value}`, { replace: true })}
            keepMounted={false}
          >
            <Tabs.List aria-label={`About ${endpoint.name}`} mb="md">
              {TABS.map(({ value, label }) => (
                <Tabs.Tab key={value} value={value}>
                  {label}
                </Tabs.Tab>
              ))}
            </Tabs.List>
            <Suspense fallback={<RowsSkeleton />}>
              <Tabs.Panel value="live">
                <EndpointLive endpoint={endpoint} snapshot={snapshot} />
              </Tabs.Panel>
              <Tabs.Panel value="request">
                <Requests endpoint={endpoint} />
              </Tabs.Panel>
              <Tabs.Panel value="releases">
                <Releases endpoint={endpoint} snapshot={snapshot} />
              </Tabs.Panel>
              <Tabs.Panel value="logs">
                <Logs endpoint={endpoint} snapshot={snapshot} />
              </Tabs.Panel>
              <Tabs.Panel value="decisions">
                <Decisions endpoint={endpoint} snapshot={snapshot} />
              </Tabs.Panel>
              <Tabs.Panel value="settings">
                <Settings endpoint={endpoint} />
              </Tabs.Panel>
            </Suspense>
          </Tabs>
        </Page>
      )}
    </Loaded>
  );
}
