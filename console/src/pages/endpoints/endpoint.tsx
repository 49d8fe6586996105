import { Badge, Tabs } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Suspense } from 'react';
import { useNavigate, useParams } from 'react-router';
import { api, unwrap } from '../../api/client.ts';
import { useLive } from '../../api/events.ts';
import type { EndpointSnapshot } from '../../api/live-snapshots.ts';
import { LiveBadge } from '../../ui/live-badge.tsx';
import { Loaded, Page, PageSkeleton, RowsSkeleton } from '../../ui/page.tsx';
import { visibleText } from '../../ui/text/visible-text.ts';
import { EndpointActions, EndpointDescription } from './endpoint-header.tsx';
import type { EndpointTabProps } from './endpoint-tab-props.ts';
import { ENDPOINT_TABS } from './endpoint-tabs.ts';

const PARENTS = [{ to: '/endpoints', label: 'Endpoints' }];

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
          parents={PARENTS}
          status={
            <>
              <Badge variant="default" tt="none">
                Version {snapshot?.endpointVersion ?? '…'}
              </Badge>
              <LiveBadge isOpen={isOpen} />
            </>
          }
          description={<EndpointDescription endpoint={endpoint} snapshot={snapshot} />}
          actions={<EndpointActions endpoint={endpoint} />}
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
  const tabs = ENDPOINT_TABS.filter(({ isForJobs }) => !(isForJobs && type === 'LOAD_BALANCER'));
  return (
    <Tabs
      value={tab}
      onChange={(value) => navigate(`/endpoints/${id}/${value}`, { replace: true })}
      keepMounted={false}
    >
      <Tabs.List aria-label={visibleText(`Endpoint ${name}`)} mb="md">
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
