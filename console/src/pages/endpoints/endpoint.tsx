import './endpoints.css';
import { Badge, Button, Group, Stack, Tabs, Text } from '@mantine/core';
import { IconCopyPlus } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { Suspense } from 'react';
import { Link, Navigate, useLocation, useNavigate, useParams } from 'react-router';
import { api, BASE_URL, unwrap } from '../../api/client.ts';
import { useLive } from '../../api/events.ts';
import type { EndpointSnapshot } from '../../api/live-snapshots.ts';
import { modelsQuery } from '../../api/queries.ts';
import { RemoveRecord } from '../../ui/confirm-delete.tsx';
import { CopyableId } from '../../ui/copyable-id.tsx';
import { LiveBadge } from '../../ui/live-badge.tsx';
import { LoadedPage, NoSection, Page, RowsSkeleton } from '../../ui/page.tsx';
import { Status } from '../../ui/text/status.tsx';
import { visibleText } from '../../ui/text/visible-text.ts';
import { ENDPOINT_STATES } from './endpoint-states.ts';
import type { EndpointTabProps } from './endpoint-tab-props.ts';
import { type EndpointTab, endpointTabs, FORMER_SECTIONS } from './endpoint-tabs.ts';
import { endpointUrls, servesModels } from './endpoint-urls.ts';
import { PauseButton } from './pause-button.tsx';
import { versionText } from './releases/release-text.ts';
import type { Endpoint } from './settings/endpoint-values.ts';
import { stateSentence } from './state-text.ts';

const PARENT = { to: '/endpoints', label: 'Endpoints' };

export function EndpointPage() {
  const { id = '', tab = 'overview' } = useParams();
  const query = useQuery({
    queryKey: ['endpoint', id],
    queryFn: () => unwrap(api.GET('/v2/serverless/{id}', { params: { path: { id } } })),
  });
  const { snapshot, isOpen } = useLive<EndpointSnapshot>(`/v2/serverless/${id}/live`);
  return (
    <LoadedPage query={query} what="Endpoint" parent={PARENT}>
      {(endpoint) => (
        <Page
          title={endpoint.name}
          parents={[PARENT]}
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
          <EndpointTabs endpoint={endpoint} snapshot={snapshot} section={tab} />
        </Page>
      )}
    </LoadedPage>
  );
}

/** The tabs, and the sections of the one that is open. */
function EndpointTabs({ section, ...props }: EndpointTabProps & { section: string }) {
  const { id, name, type } = props.endpoint;
  const navigate = useNavigate();
  const { search } = useLocation();
  const tabs = endpointTabs(type);
  const open = tabs.find(({ sections }) => sections.some(({ value }) => value === section));
  const former = FORMER_SECTIONS[section];
  if (former !== undefined) return <Navigate to={`/endpoints/${id}/${former}${search}`} replace />;
  if (open === undefined) return <NoSection what="endpoint" to={`/endpoints/${id}`} />;
  const { Panel } = open.sections.find(({ value }) => value === section)!;
  const firstOf = (label: string | null) => tabs.find((tab) => tab.label === label)!.sections[0]!.value;
  return (
    <Tabs
      value={open.label}
      onChange={(label) => navigate(`/endpoints/${id}/${firstOf(label)}`, { replace: true })}
      keepMounted={false}
    >
      <Tabs.List aria-label={visibleText(`Endpoint ${name}`)} mb="md">
        {tabs.map(({ label }) => (
          <Tabs.Tab key={label} value={label}>
            {label}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      <Tabs.Panel value={open.label}>
        {open.sections.length > 1 && <Sections id={id} tab={open} section={section} />}
        <Suspense fallback={<RowsSkeleton />}>
          <Panel {...props} />
        </Suspense>
      </Tabs.Panel>
    </Tabs>
  );
}

function Sections({ id, tab, section }: { id: string; tab: EndpointTab; section: string }) {
  return (
    <nav className="sections" aria-label={`Sections of ${tab.label}`}>
      {tab.sections.map(({ value, label }) => (
        <Link
          key={value}
          to={`/endpoints/${id}/${value}`}
          replace
          aria-current={value === section ? 'page' : undefined}
        >
          {label}
        </Link>
      ))}
    </nav>
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

function EndpointActions({ endpoint }: { endpoint: Endpoint }) {
  const { id, name } = endpoint;
  return (
    <>
      <PauseButton endpoint={endpoint} />
      <Button
        variant="default"
        component={Link}
        to={`/endpoints/new?from=${id}`}
        leftSection={<IconCopyPlus size={16} aria-hidden />}
      >
        Duplicate
      </Button>
      <RemoveRecord
        what="endpoint"
        name={name}
        queryKey="endpoints"
        to="/endpoints"
        consequence="Stops all workers immediately and cancels queued and running jobs. You can't undo this."
        onConfirm={() => unwrap(api.DELETE('/v2/serverless/{id}', { params: { path: { id } } }))}
      />
    </>
  );
}
