import { Button, Text } from '@mantine/core';
import { IconBox, IconPlus } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { Link } from 'react-router';
import { api, type Schemas, unwrap } from '../../api/client.ts';
import { useLive } from '../../api/events.ts';
import { EmptyState, Loaded, Page } from '../../ui/page.tsx';
import { type Column, RecordList } from '../../ui/tables/record-list.tsx';
import { formatUsd } from '../../ui/text/format.ts';
import { RecordLink, Truncated } from '../../ui/text/record-name.tsx';
import { Status } from '../../ui/text/status.tsx';
import { describeHardware, POD_STATUSES, type Pod } from './pod-details.ts';

const COLUMNS: Column<Pod>[] = [
  { title: 'Name', render: (pod) => <RecordLink to={linkOf(pod)} name={pod.name} /> },
  { title: 'Status', render: ({ status }) => <Status table={POD_STATUSES} value={status} /> },
  { title: 'Image', isSecondary: true, render: ({ image }) => <Truncated text={image} /> },
  { title: 'Hardware', isSecondary: true, render: (pod) => <Text size="sm">{describeHardware(pod)}</Text> },
  { title: 'Cost per hour', render: ({ cost }) => <span className="figure">{formatUsd(cost)}</span> },
];
const idOf = ({ id }: Pod) => id;
const textOf = ({ id, name, image }: Pod) => `${id} ${name} ${image}`;
const linkOf = ({ id }: Pod) => `/pods/${id}`;

export function PodsPage() {
  const query = useQuery({ queryKey: ['pods'], queryFn: () => unwrap(api.GET('/v2/pods')) });
  const { snapshot } = useLive<Schemas['PodList']>('/v2/pods/live');
  return (
    <Page title="Pods" actions={<NewPodLink />}>
      <Loaded query={{ ...query, data: snapshot ?? query.data }}>
        {({ pods }) =>
          pods.length === 0 ? (
            <EmptyState icon={IconBox} title="No pods yet" action={<NewPodLink />}>
              A pod is a long-running container, such as a notebook, a server or a training run. Each HTTP port gets its
              own URL.
            </EmptyState>
          ) : (
            <RecordList label="pods" items={pods} columns={COLUMNS} idOf={idOf} textOf={textOf} linkOf={linkOf} />
          )
        }
      </Loaded>
    </Page>
  );
}

function NewPodLink() {
  return (
    <Button component={Link} to="/pods/new" leftSection={<IconPlus size={16} aria-hidden />}>
      New pod
    </Button>
  );
}
