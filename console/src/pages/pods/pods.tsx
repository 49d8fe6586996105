import { Button, Text } from '@mantine/core';
import { IconBox, IconPlus } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { Link } from 'react-router';
import { api, type Schemas, unwrap } from '../../api/client.ts';
import { useLive } from '../../api/events.ts';
import { formatUsd } from '../../ui/format.ts';
import { EmptyState, Loaded, Page } from '../../ui/page.tsx';
import { type Column, RecordList } from '../../ui/record-list.tsx';
import { Status } from '../../ui/status.tsx';

export type Pod = Schemas['Pod'];

const COLUMNS: Column<Pod>[] = [
  {
    title: 'Name',
    render: ({ id, name }) => (
      <Text component={Link} to={`/pods/${id}`} c="inherit" fw={550} onClick={(event) => event.stopPropagation()}>
        {name}
      </Text>
    ),
  },
  { title: 'State', render: ({ status }) => <Status value={status} /> },
  { title: 'Image', isSecondary: true, render: ({ image }) => <Text size="sm">{image}</Text> },
  { title: 'Hardware', isSecondary: true, render: (pod) => <Text size="sm">{hardwareOf(pod)}</Text> },
  { title: 'Per hour', render: ({ cost }) => <span className="figure">{formatUsd(cost)}</span> },
];
const idOf = ({ id }: Pod) => id;
const textOf = ({ id, name, image }: Pod) => `${id} ${name} ${image}`;
const linkOf = ({ id }: Pod) => `/pods/${id}`;
const create = (
  <Button component={Link} to="/pods/new" leftSection={<IconPlus size={16} aria-hidden />}>
    New pod
  </Button>
);

export function hardwareOf(pod: Pod): string {
  if (pod.gpu) return `${pod.gpu.count} × ${pod.gpu.id}`;
  return pod.cpu ? `${pod.cpu.vcpuCount} vCPU, ${pod.cpu.memory} GB` : '–';
}

export function PodsPage() {
  const query = useQuery({
    queryKey: ['pods'],
    queryFn: () => unwrap(api.GET('/v2/pods')),
  });
  const { snapshot } = useLive<Schemas['PodList']>('/v2/pods/live');
  return (
    <Page title="Pods" actions={create}>
      <Loaded query={{ ...query, data: snapshot ?? query.data }}>
        {({ pods }) =>
          pods.length === 0 ? (
            <EmptyState icon={IconBox} title="No pods yet" action={create}>
              A pod is one container that stays: a notebook, a server, a long training. Its HTTP ports get addresses of
              their own.
            </EmptyState>
          ) : (
            <RecordList label="pods" items={pods} columns={COLUMNS} idOf={idOf} textOf={textOf} linkOf={linkOf} />
          )
        }
      </Loaded>
    </Page>
  );
}
