import { Badge, Button, Group, Stack, Tabs, Text } from '@mantine/core';
import { IconCopyPlus, IconTrash } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { Suspense } from 'react';
import { Link, useNavigate, useParams } from 'react-router';
import { api, BASE_URL, unwrap } from '../../api/client.ts';
import { useLive } from '../../api/events.ts';
import type { EndpointSnapshot } from '../../api/live-snapshots.ts';
import { modelsQuery } from '../../api/queries.ts';
import { Removal } from '../../ui/confirm-delete.tsx';
import { CopyableId } from '../../ui/copyable-id.tsx';
import { LiveBadge } from '../../ui/live-badge.tsx';
import { Loaded, Page, PageSkeleton, RowsSkeleton } from '../../ui/page.tsx';
import { Status } from '../../ui/text/status.tsx';
import { visibleText } from '../../ui/text/visible-text.ts';
import { ENDPOINT_STATES } from './endpoint-states.ts';
import type { EndpointTabProps } from './endpoint-tab-props.ts';
import { ENDPOINT_TABS } from './endpoint-tabs.ts';
import { endpointUrls, servesModels } from './endpoint-urls.ts';
import { versionText } from './releases/release-text.ts';
import type { Endpoint } from './settings/endpoint-values.ts';
import { stateSentence } from './state-text.ts';

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
                {versionText(snapshot)}
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

/** The state in words, and what clients are configured with. */
function EndpointDescription(props: { endpoint: Endpoint; snapshot: EndpointSnapshot | undefined }) {
  const { endpoint, snapshot } = props;
  const models = useQuery(modelsQuery);
  const urls = endpointUrls(BASE_URL, endpoint, servesModels(models.data ?? [], endpoint));
  return (
    <Stack gap={2}>
      <Text size="sm" component="div" mih={20} role="status">
        {snapshot && (
          <Status table={ENDPOINT_STATES} value={snapshot.state.state} text={stateSentence(snapshot.state)} />
        )}
      </Text>
      <Group gap="2px 16px">
        <CopyableId id={endpoint.id} />
        {urls.map(({ what, url }) => (
          <CopyableId key={what} id={url} what={what} />
        ))}
      </Group>
    </Stack>
  );
}

function EndpointActions({ endpoint: { id, name } }: { endpoint: Endpoint }) {
  return (
    <>
      <Button
        variant="default"
        component={Link}
        to={`/endpoints/new?from=${id}`}
        leftSection={<IconCopyPlus size={16} aria-hidden />}
      >
        Duplicate
      </Button>
      <Removal
        what="endpoint"
        name={name}
        queryKey="endpoints"
        to="/endpoints"
        consequence="Stops all workers immediately and cancels queued and running jobs. You can't undo this."
        onConfirm={() => unwrap(api.DELETE('/v2/serverless/{id}', { params: { path: { id } } }))}
      >
        {(ask) => (
          <Button variant="default" leftSection={<IconTrash size={16} aria-hidden />} onClick={ask}>
            Delete…
          </Button>
        )}
      </Removal>
    </>
  );
}
