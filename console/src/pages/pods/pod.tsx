import { Button, Skeleton, Tabs } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Suspense } from 'react';
import { useNavigate, useParams } from 'react-router';
import { api, type Schemas, unwrap } from '../../api/client.ts';
import { useLive } from '../../api/events.ts';
import { RemoveRecord } from '../../ui/confirm-delete.tsx';
import { CopyableId } from '../../ui/copyable-id.tsx';
import { lazyPart } from '../../ui/lazy-part.ts';
import { PageLog } from '../../ui/logs/log-view.tsx';
import { LoadedPage, NoSection, Page } from '../../ui/page.tsx';
import { enumLabel } from '../../ui/text/labels.ts';
import { Status } from '../../ui/text/status.tsx';
import { visibleText } from '../../ui/text/visible-text.ts';
import { POD_STATUSES, type Pod, podActions } from './pod-details.ts';
import { PodOverview } from './pod-overview.tsx';

const PodTerminal = lazyPart(() => import('./pod-terminal.tsx'), 'PodTerminal');
const TABS = ['pod', 'logs', 'terminal'];
const PARENT = { to: '/pods', label: 'Pods' };

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
    <LoadedPage query={{ ...query, data: live ?? query.data }} what="Pod" parent={PARENT}>
      {(pod) => (
        <Page
          title={pod.name}
          parents={[PARENT]}
          status={<Status table={POD_STATUSES} value={pod.status} />}
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
            {!TABS.includes(tab) && <NoSection what="pod" to={`/pods/${id}`} />}
          </Tabs>
        </Page>
      )}
    </LoadedPage>
  );
}

/** The buttons that change a pod's status. */
function PodActions({ pod }: { pod: Pod }) {
  const queries = useQueryClient();
  const act = useMutation({
    mutationFn: (action: 'start' | 'stop' | 'restart') =>
      unwrap(api.POST('/v2/pods/{id}/action', { params: { path: { id: pod.id } }, body: { action } })),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['pod', pod.id] }),
  });
  return (
    <>
      {podActions(pod).map(({ action, isDisabled }) => (
        <Button
          key={action}
          variant="default"
          loading={act.isPending && act.variables === action}
          disabled={isDisabled}
          onClick={() => act.mutate(action)}
        >
          {enumLabel(action)}
        </Button>
      ))}
      {pod.cluster === undefined && <TerminateButton pod={pod} />}
    </>
  );
}

function TerminateButton({ pod: { id, name } }: { pod: Pod }) {
  return (
    <RemoveRecord
      verb="Terminate"
      what="pod"
      name={name}
      queryKey="pods"
      to="/pods"
      consequence="Stops the container and deletes its persistent storage. Network volumes are kept. You can't undo this."
      onConfirm={() => unwrap(api.DELETE('/v2/pods/{id}', { params: { path: { id } } }))}
    />
  );
}
