import { Button, Code, Group, Text } from '@mantine/core';
import { IconPlus, IconServerBolt } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useEffect, useMemo } from 'react';
import { Link } from 'react-router';
import type { Schemas } from '../../api/client.ts';
import { useLive } from '../../api/events.ts';
import type { AccountSnapshot, EndpointState } from '../../api/live-snapshots.ts';
import { endpointStatesQuery } from '../../api/queries.ts';
import { enumLabel } from '../../ui/enum-label.ts';
import { formatDate, NO_VALUE } from '../../ui/format.ts';
import { EmptyState, Loaded, Page } from '../../ui/page.tsx';
import { shortReason } from '../../ui/reason.ts';
import { type Column, RecordList } from '../../ui/record-list.tsx';
import { RecordLink } from '../../ui/record-name.tsx';
import { Status } from '../../ui/status.tsx';
import type { Endpoint } from './endpoint-values.ts';
import { stateTitle } from './state-text.ts';

type Activity = AccountSnapshot['active'][number];

const idOf = ({ id }: Endpoint) => id;
const textOf = ({ id, name, image }: Endpoint) => `${id} ${name} ${image}`;
const linkOf = ({ id }: Endpoint) => `/endpoints/${id}`;

export function EndpointsPage() {
  const { snapshot } = useLive<AccountSnapshot>('/v2/account/live');
  const query = useEndpoints(snapshot?.endpoints);
  const states = query.data?.states;
  const columns = useMemo(() => columnsOf(snapshot?.active ?? [], states ?? []), [snapshot, states]);
  return (
    <Page title="Endpoints" actions={<NewEndpointLink />}>
      <Loaded query={query}>
        {({ endpoints }) =>
          endpoints.length === 0 ? (
            <EmptyState icon={IconServerBolt} title="No endpoints yet" action={<NewEndpointLink />}>
              An endpoint runs your image and scales its workers with demand, down to zero. To try one, use the image{' '}
              <Code>podyard/echo-js:dev</Code>.
            </EmptyState>
          ) : (
            <RecordList
              label="endpoints"
              items={endpoints}
              columns={columns}
              idOf={idOf}
              textOf={textOf}
              linkOf={linkOf}
            />
          )
        }
      </Loaded>
    </Page>
  );
}

/** Reads the endpoints again when the live count differs from the list. */
function useEndpoints(liveCount: number | undefined) {
  const query = useQuery(endpointStatesQuery);
  const { refetch } = query;
  const listed = query.data?.endpoints.length;
  useEffect(() => {
    if (liveCount !== undefined && listed !== undefined && liveCount !== listed) void refetch();
  }, [liveCount, listed, refetch]);
  return query;
}

function columnsOf(active: readonly Activity[], states: readonly Schemas['EndpointState'][]): Column<Endpoint>[] {
  const activity = new Map(active.map((entry) => [entry.id, entry]));
  const stateById = new Map(states.map((state) => [state.id, state]));
  return [
    { title: 'Name', render: (endpoint) => <RecordLink to={linkOf(endpoint)} name={endpoint.name} /> },
    {
      title: 'State',
      width: '200px',
      render: ({ id }) => <State state={activity.get(id)?.state ?? stateById.get(id)} />,
    },
    {
      title: 'Type',
      isSecondary: true,
      render: ({ type }) => (type === 'LOAD_BALANCING' ? 'Load balancer' : 'Queue'),
    },
    { title: 'Image', isSecondary: true, render: ({ image }) => <ImageName image={image} /> },
    {
      title: 'Workers',
      width: '130px',
      render: ({ id, workers }) => <WorkerCount count={activity.get(id)?.workers.total ?? 0} limits={workers} />,
    },
    { title: 'Activity', width: '170px', render: ({ id }) => <WorkCount work={activity.get(id)} /> },
    {
      title: 'Created',
      isSecondary: true,
      render: ({ createdAt }) => <Text size="sm">{formatDate(createdAt)}</Text>,
    },
  ];
}

/** The state; why on hover. */
function State({ state }: { state: EndpointState | undefined }) {
  if (!state) return null;
  const title =
    state.reason === null ? '' : `${stateTitle(enumLabel(state.state), state.since)}: ${shortReason(state.reason)}`;
  return (
    <span title={title}>
      <Status value={state.state} />
    </span>
  );
}

function ImageName({ image }: { image: string }) {
  return (
    <Text size="sm" truncate maw={260} title={image}>
      {image}
    </Text>
  );
}

function WorkerCount({ count, limits: { min, max } }: { count: number; limits: { min: number; max: number } }) {
  return (
    <Group gap={4} className="figure" wrap="nowrap">
      <Text size="sm">{count}</Text>
      <Text size="xs" c="dimmed">
        of {min}–{max}
      </Text>
    </Group>
  );
}

function WorkCount({ work }: { work: Activity | undefined }) {
  if (!work || work.inQueue + work.inProgress === 0) return <Text c="dimmed">{NO_VALUE}</Text>;
  return (
    <Text size="sm" className="figure">
      {work.inProgress} running, {work.inQueue} queued
    </Text>
  );
}

function NewEndpointLink() {
  return (
    <Button component={Link} to="/endpoints/new" leftSection={<IconPlus size={16} aria-hidden />}>
      New endpoint
    </Button>
  );
}
