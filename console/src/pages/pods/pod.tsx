import { Skeleton, Tabs } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Suspense } from 'react';
import { useNavigate, useParams } from 'react-router';
import { api, type Schemas, unwrap } from '../../api/client.ts';
import { useLive } from '../../api/events.ts';
import { CopyableId } from '../../ui/copyable-id.tsx';
import { lazyPart } from '../../ui/lazy-part.ts';
import { PageLog } from '../../ui/logs/log-view.tsx';
import { Loaded, Page, PageSkeleton } from '../../ui/page.tsx';
import { visibleText } from '../../ui/text/visible-text.ts';
import { PodActions } from './pod-actions.tsx';
import { PodOverview } from './pod-overview.tsx';

const PodTerminal = lazyPart(() => import('./pod-terminal.tsx'), 'PodTerminal');
const PARENTS = [{ to: '/pods', label: 'Pods' }];

export function PodPage() {
  const { id = '', tab = 'pod' } = useParams();
  const navigate = useNavigate();
  const query = useQuery({
    queryKey: ['pod', id],
    queryFn: () => unwrap(api.GET('/v2/pods/{id}', { params: { path: { id }, query: { include: 'REASON' } } })),
    // The live view has no pods of clusters.
    refetchInterval: ({ state }) => state.data?.cluster !== undefined && 5_000,
  });
  const { snapshot } = useLive<Schemas['PodList']>('/v2/pods/live');
  const live = snapshot?.pods.find((candidate) => candidate.id === id);
  return (
    <Loaded query={{ ...query, data: live ?? query.data }} skeleton={<PageSkeleton />}>
      {(pod) => (
        <Page
          title={pod.name}
          parents={PARENTS}
          description={<CopyableId id={pod.id} />}
          actions={<PodActions pod={pod} />}
        >
          <Tabs
            value={tab}
            onChange={(value) => navigate(`/pods/${id}/${value}`, { replace: true })}
            keepMounted={false}
          >
            <Tabs.List aria-label={visibleText(`Pod ${pod.name}`)} mb="md">
              <Tabs.Tab value="pod">Overview</Tabs.Tab>
              <Tabs.Tab value="logs">Logs</Tabs.Tab>
              <Tabs.Tab value="terminal">Terminal</Tabs.Tab>
            </Tabs.List>
            <Tabs.Panel value="pod">
              <PodOverview pod={pod} />
            </Tabs.Panel>
            <Tabs.Panel value="logs">
              <PageLog place={`/v2/pods/${id}`} />
            </Tabs.Panel>
            <Tabs.Panel value="terminal">
              <Suspense fallback={<Skeleton h={120} />}>
                <PodTerminal id={id} />
              </Suspense>
            </Tabs.Panel>
          </Tabs>
        </Page>
      )}
    </Loaded>
  );
}
