import { Button, Code, Group, Text } from '@mantine/core';
import { IconPlus, IconServerBolt } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useEffect, useMemo } from 'react';
import { Link } from 'react-router';
import { api, unwrap } from '../../api/client.ts';
import { useLive } from '../../api/events.ts';
import type { AccountSnapshot } from '../../api/live-types.ts';
import { formatDate } from '../../ui/format.ts';
import { EmptyState, Loaded, Page } from '../../ui/page.tsx';
import { type Column, RecordList } from '../../ui/record-list.tsx';
import type { Endpoint } from './endpoint-values.ts';

const deploy = (
  <Button component={Link} to="/endpoints/new" leftSection={<IconPlus size={16} aria-hidden />}>
    New endpoint
  </Button>
);
const idOf = ({ id }: Endpoint) => id;
const textOf = ({ id, name, image }: Endpoint) => `${id} ${name} ${image}`;
const linkOf = ({ id }: Endpoint) => `/endpoints/${id}`;

export function EndpointsPage() {
  const query = useQuery({ queryKey: ['endpoints'], queryFn: () => unwrap(api.GET('/v2/serverless')) });
  const { snapshot } = useLive<AccountSnapshot>('/v2/account/live');
  const known = query.data?.endpoints.length;
  const { refetch } = query;
  useEffect(() => {
    if (snapshot && known !== undefined && snapshot.endpoints !== known) void refetch();
  }, [snapshot, known, refetch]);
  const columns = useMemo<Column<Endpoint>[]>(() => {
    const active = new Map(snapshot?.active.map((entry) => [entry.id, entry]));
    return [
      {
        title: 'Name',
        render: ({ id, name }) => (
          <Text
            component={Link}
            to={`/endpoints/${id}`}
            c="inherit"
            fw={550}
            onClick={(event) => event.stopPropagation()}
          >
            {name}
          </Text>
        ),
      },
      {
        title: 'Kind',
        isSecondary: true,
        render: ({ type }) => (type === 'LOAD_BALANCING' ? 'load-balanced' : 'queue'),
      },
      {
        title: 'Image',
        isSecondary: true,
        render: ({ image }) => (
          <Text size="sm" truncate maw={260} title={image}>
            {image}
          </Text>
        ),
      },
      {
        title: 'Workers',
        width: '130px',
        render: ({ id, workers }) => {
          const live = active.get(id)?.workers;
          return (
            <Group gap={4} className="figure" wrap="nowrap">
              <Text size="sm">{live?.total ?? 0}</Text>
              <Text size="xs" c="dimmed">
                of {workers.min}–{workers.max}
              </Text>
            </Group>
          );
        },
      },
      {
        title: 'Work',
        width: '150px',
        render: ({ id }) => {
          const live = active.get(id);
          if (!live || live.inQueue + live.inProgress === 0) return <Text c="dimmed">–</Text>;
          return (
            <Text size="sm" className="figure">
              {live.inProgress} running, {live.inQueue} waiting
            </Text>
          );
        },
      },
      {
        title: 'Created',
        isSecondary: true,
        render: ({ createdAt }) => <Text size="sm">{formatDate(createdAt)}</Text>,
      },
    ];
  }, [snapshot]);
  return (
    <Page title="Endpoints" actions={deploy}>
      <Loaded query={query}>
        {({ endpoints }) =>
          endpoints.length === 0 ? (
            <EmptyState icon={IconServerBolt} title="Deploy your first endpoint" action={deploy}>
              An endpoint runs your image in as many workers as there is work for, from none up. Any worker image that
              speaks the usual protocol runs unchanged; <Code>podyard/echo-js:dev</Code> is one to try.
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
