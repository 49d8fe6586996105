import { Text } from '@mantine/core';
import { IconBox } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { api, type Schemas, unwrap } from '../../api/client.ts';
import { useLive } from '../../api/events.ts';
import { type Column, NewLink, RecordPage } from '../../ui/tables/record-page.tsx';
import { formatUsd } from '../../ui/text/format.ts';
import { RecordLink, Truncated } from '../../ui/text/record-name.tsx';
import { Status } from '../../ui/text/status.tsx';
import { describeHardware, POD_STATUSES, type Pod } from './pod-details.ts';

const COLUMNS: Column<Pod>[] = [
  { title: 'Name', render: (pod) => <RecordLink to={linkOf(pod)} name={pod.name} /> },
  { title: 'Status', render: ({ status }) => <Status table={POD_STATUSES} value={status} /> },
  {
    title: 'Image',
    isSecondary: true,
    render: ({ image }) => <Truncated text={image} maw="clamp(17rem, 24vw, 40rem)" />,
  },
  { title: 'Hardware', isSecondary: true, render: (pod) => <Text size="sm">{describeHardware(pod)}</Text> },
  { title: 'Cost per hour', isNumber: true, render: ({ cost }) => formatUsd(cost) },
];
const idOf = ({ id }: Pod) => id;
const textOf = ({ id, name, image }: Pod) => `${id} ${name} ${image}`;
const linkOf = ({ id }: Pod) => `/pods/${id}`;

export function PodsPage() {
  const query = useQuery({ queryKey: ['pods'], queryFn: () => unwrap(api.GET('/v2/pods')) });
  const { snapshot } = useLive<Schemas['PodList']>('/v2/pods/live');
  return (
    <RecordPage
      title="Pods"
      action={<NewLink to="/pods/new">New pod</NewLink>}
      query={{ ...query, data: (snapshot ?? query.data)?.pods }}
      empty={{
        icon: IconBox,
        title: 'No pods yet',
        text: 'A pod is a long-running container, such as a notebook, a server or a training run. Each HTTP port gets its own URL.',
      }}
      label="pods"
      columns={COLUMNS}
      idOf={idOf}
      textOf={textOf}
      linkOf={linkOf}
    />
  );
}
