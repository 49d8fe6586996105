import { Stack, Table, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useParams } from 'react-router';
import { api, type Schemas, unwrap } from '../../api/client.ts';
import { RemoveRecord } from '../../ui/confirm-delete.tsx';
import { CopyableId } from '../../ui/copyable-id.tsx';
import { Figures } from '../../ui/figures.tsx';
import { Loaded, LoadedPage, Page } from '../../ui/page.tsx';
import { SmallTable } from '../../ui/tables/small-table.tsx';
import { formatUsd, NO_VALUE } from '../../ui/text/format.ts';
import { enumLabel } from '../../ui/text/labels.ts';
import { ReasonAlert, ReasonCell } from '../../ui/text/reason-view.tsx';
import { RecordLink } from '../../ui/text/record-name.tsx';
import { Status } from '../../ui/text/status.tsx';
import { POD_STATUSES } from '../pods/pod-details.ts';
import { type Cluster, describeCompute } from './cluster-values.ts';

const PARENT = { to: '/clusters', label: 'Clusters' };
const REFRESH_MS = 3_000;
const REASON = { include: 'REASON' };

export function ClusterPage() {
  const { id = '' } = useParams();
  const query = useQuery({
    queryKey: ['cluster', id],
    queryFn: () => unwrap(api.GET('/v2/clusters/{id}', { params: { path: { id }, query: REASON } })),
    refetchInterval: REFRESH_MS,
  });
  return (
    <LoadedPage query={query} what="Cluster" parent={PARENT}>
      {(cluster) => (
        <Page
          title={cluster.name}
          parents={[PARENT]}
          description={<CopyableId id={cluster.id} />}
          actions={<DeleteCluster cluster={cluster} />}
        >
          <Stack>
            {cluster.reason && (
              <ReasonAlert color={cluster.pods.byStatus.ERROR ? 'red' : 'orange'} reason={cluster.reason} />
            )}
            <Figures figures={figuresOf(cluster)} />
            <NetworkNote cluster={cluster} />
            <Members id={id} />
          </Stack>
        </Page>
      )}
    </LoadedPage>
  );
}

function figuresOf(cluster: Cluster): { label: string; value: string }[] {
  return [
    { label: 'Type', value: enumLabel(cluster.type) },
    { label: 'Compute', value: describeCompute(cluster.compute) },
    { label: 'Data center', value: cluster.dataCenterId ?? NO_VALUE },
  ];
}

/** Nothing until something of it is known. */
function NetworkNote({ cluster: { network, primary } }: { cluster: Cluster }) {
  const facts = [
    ...(network ? [`Network ${network.cidr}`] : []),
    ...(primary?.sshEndpoint ? [`SSH of rank 0 at ${primary.sshEndpoint}`] : []),
  ];
  return facts.length === 0 ? null : <Text size="sm">{facts.join(' · ')}</Text>;
}

function Members({ id }: { id: string }) {
  const query = useQuery({
    queryKey: ['cluster', id, 'pods'],
    queryFn: () => unwrap(api.GET('/v2/clusters/{id}/pods', { params: { path: { id }, query: REASON } })),
    refetchInterval: REFRESH_MS,
  });
  return (
    <Loaded query={query}>
      {({ pods }) => (
        <SmallTable
          label="Pods of the cluster"
          minWidth={640}
          titles={['Rank', 'Name', 'Status', 'Address', 'Cost per hour', 'Reason']}
        >
          {pods.map((pod) => (
            <MemberRow key={pod.id} pod={pod} />
          ))}
        </SmallTable>
      )}
    </Loaded>
  );
}

function MemberRow({ pod }: { pod: Schemas['Pod'] }) {
  return (
    <Table.Tr>
      <Table.Td className="figure">{pod.cluster?.rank}</Table.Td>
      <Table.Td>
        <RecordLink to={`/pods/${pod.id}`} name={pod.name} />
      </Table.Td>
      <Table.Td>
        <Status table={POD_STATUSES} value={pod.status} />
      </Table.Td>
      <Table.Td>
        <Text size="sm" className="figure">
          {pod.cluster?.ip ?? NO_VALUE}
        </Text>
      </Table.Td>
      <Table.Td className="figure">{formatUsd(pod.cost)}</Table.Td>
      <Table.Td>
        <ReasonCell reason={pod.reason} />
      </Table.Td>
    </Table.Tr>
  );
}

function DeleteCluster({ cluster: { id, name } }: { cluster: Cluster }) {
  return (
    <RemoveRecord
      what="cluster"
      name={name}
      queryKey="clusters"
      to="/clusters"
      consequence="Stops all its pods and deletes their persistent storage. Network volumes are kept. You can't undo this."
      onConfirm={() => unwrap(api.DELETE('/v2/clusters/{id}', { params: { path: { id } } }))}
    />
  );
}
