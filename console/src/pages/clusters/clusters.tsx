import { Text } from '@mantine/core';
import { IconTopologyRing3 } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { api, unwrap } from '../../api/client.ts';
import { type Column, NewLink, RecordPage } from '../../ui/tables/record-page.tsx';
import { enumLabel } from '../../ui/text/labels.ts';
import { ReasonCell } from '../../ui/text/reason-view.tsx';
import { RecordLink } from '../../ui/text/record-name.tsx';
import { type Cluster, describeCompute, describePods } from './cluster-values.ts';

/** The list is read again at this interval: pods come and go by themselves. */
const REFRESH_MS = 5_000;

const COLUMNS: Column<Cluster>[] = [
  { title: 'Name', render: (cluster) => <RecordLink to={linkOf(cluster)} name={cluster.name} /> },
  { title: 'Pods', render: ({ pods }) => <Text size="sm">{describePods(pods)}</Text> },
  { title: 'Type', isWide: true, render: ({ type }) => <Text size="sm">{enumLabel(type)}</Text> },
  { title: 'Compute', render: ({ compute }) => <Text size="sm">{describeCompute(compute)}</Text> },
  { title: 'Reason', render: ({ reason }) => <ReasonCell reason={reason} /> },
];
const idOf = ({ id }: Cluster) => id;
const textOf = ({ id, name, type }: Cluster) => `${id} ${name} ${type}`;
const linkOf = ({ id }: Cluster) => `/clusters/${id}`;

export function ClustersPage() {
  const query = useQuery({
    queryKey: ['clusters'],
    queryFn: () => unwrap(api.GET('/v2/clusters', { params: { query: { include: 'REASON' } } })),
    refetchInterval: REFRESH_MS,
  });
  return (
    <RecordPage
      title="Clusters"
      action={<NewLink to="/clusters/new">New cluster</NewLink>}
      query={{ ...query, data: query.data?.clusters }}
      empty={{
        icon: IconTopologyRing3,
        title: 'No clusters yet',
        text: 'A cluster is several pods that start together and share a network of their own, for training on many GPUs or for programs that talk to each other.',
      }}
      label="clusters"
      columns={COLUMNS}
      idOf={idOf}
      textOf={textOf}
      linkOf={linkOf}
    />
  );
}
