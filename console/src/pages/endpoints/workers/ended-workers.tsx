import { Anchor, Table, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useEffect } from 'react';
import { Link } from 'react-router';
import type { Schemas } from '../../../api/client.ts';
import { endedWorkersQuery } from '../../../api/queries.ts';
import { SmallTable } from '../../../ui/tables/small-table.tsx';
import { NO_VALUE } from '../../../ui/text/format.ts';
import { ReasonCell } from '../../../ui/text/reason-view.tsx';
import { RelativeTime } from '../../../ui/text/relative-time-view.tsx';
import type { EndpointTabProps } from '../endpoint-tab-props.ts';

/** The workers that ended within a day, the last one first; they are read again whenever a worker comes or leaves. */
export function useEndedWorkers({ endpoint, snapshot }: EndpointTabProps): Schemas['EndedWorker'][] | undefined {
  const query = useQuery(endedWorkersQuery(endpoint.id));
  const { refetch } = query;
  const workers = snapshot?.workers.map(({ id }) => id).join();
  // biome-ignore lint/correctness/useExhaustiveDependencies: another list of live workers means that one may have ended
  useEffect(() => void refetch(), [workers, refetch]);
  return query.data?.ended;
}

export function EndedWorkers(props: EndpointTabProps & { onChoose: (workerId: string) => void }) {
  const ended = useEndedWorkers(props);
  if (!ended || ended.length === 0) return null;
  return (
    <>
      <Text size="sm" fw={600} mt="sm">
        Ended within 24 hours
      </Text>
      <SmallTable
        label="Ended workers"
        titles={['Worker', 'Ended', 'Version', 'Exit code', 'Reason', 'Log']}
        minWidth={760}
      >
        {ended.map((worker) => (
          <EndedRow key={worker.id} worker={worker} endpointId={props.endpoint.id} onChoose={props.onChoose} />
        ))}
      </SmallTable>
    </>
  );
}

function EndedRow(props: { worker: Schemas['EndedWorker']; endpointId: string; onChoose: (id: string) => void }) {
  const { worker, endpointId, onChoose } = props;
  return (
    <Table.Tr>
      <Table.Td>
        <Anchor component="button" type="button" size="sm" ff="monospace" onClick={() => onChoose(worker.id)}>
          {worker.id}
        </Anchor>
      </Table.Td>
      <Table.Td>
        <RelativeTime at={worker.endedAt} />
      </Table.Td>
      <Table.Td>{worker.version}</Table.Td>
      <Table.Td className="figure">{worker.exitCode ?? NO_VALUE}</Table.Td>
      <Table.Td {...(worker.lost ? { className: 'bad' } : {})}>
        <ReasonCell reason={worker.reason} />
      </Table.Td>
      <Table.Td>
        <Anchor component={Link} to={`/endpoints/${endpointId}/logs?worker=${worker.id}`} size="sm">
          Log
        </Anchor>
      </Table.Td>
    </Table.Tr>
  );
}
