import { Anchor, Skeleton, Table, Text } from '@mantine/core';
import { useInterval } from '@mantine/hooks';
import { useState } from 'react';
import type { EndpointSnapshot } from '../../../api/live-snapshots.ts';
import { EmptyNote } from '../../../ui/page.tsx';
import { SmallTable } from '../../../ui/tables/small-table.tsx';
import { formatDuration, NO_VALUE } from '../../../ui/text/format.ts';
import { ReasonCell } from '../../../ui/text/reason-view.tsx';
import { Status } from '../../../ui/text/status.tsx';
import type { EndpointTabProps } from '../endpoint-tab-props.ts';
import { ColdStarts } from './cold-starts.tsx';
import { EndedWorkers } from './ended-workers.tsx';
import { WorkerDrawer } from './worker-drawer.tsx';
import { WORKER_STATUSES } from './worker-status.ts';

type Worker = EndpointSnapshot['workers'][number];

/** The live workers and those that ended lately; choosing one opens its details. */
export function WorkerTable({ endpoint, snapshot }: EndpointTabProps) {
  const now = useNow();
  const [chosen, setChosen] = useState<string | null>(null);
  if (!snapshot) return <Skeleton h={120} />;
  return (
    <>
      <WorkerDrawer endpointId={endpoint.id} workerId={chosen} onClose={() => setChosen(null)} />
      <Text size="sm" fw={600} mt="sm">
        Workers now
      </Text>
      {snapshot.workers.length === 0 ? (
        <EmptyNote>
          {endpoint.workers.max === 0
            ? 'This endpoint is paused because workers.max is 0. Jobs stay queued until you raise it, as many as its queue takes.'
            : 'No workers running. One starts when a request arrives.'}
        </EmptyNote>
      ) : (
        <SmallTable
          label="Workers"
          titles={['Worker', 'Status', 'Version', 'GPU', 'Data center', 'Uptime', 'Reason']}
          minWidth={860}
        >
          {snapshot.workers.map((worker) => (
            <WorkerRow key={worker.id} worker={worker} now={now} onChoose={() => setChosen(worker.id)} />
          ))}
        </SmallTable>
      )}
      <ColdStarts endpoint={endpoint} snapshot={snapshot} now={now} onChoose={setChosen} />
      <EndedWorkers endpoint={endpoint} snapshot={snapshot} onChoose={setChosen} />
    </>
  );
}

function WorkerRow({ worker, now, onChoose }: { worker: Worker; now: number; onChoose: () => void }) {
  return (
    <Table.Tr>
      <Table.Td>
        <Anchor component="button" type="button" size="sm" ff="monospace" onClick={onChoose}>
          {worker.id}
        </Anchor>
      </Table.Td>
      <Table.Td>
        <Status table={WORKER_STATUSES} value={worker.status} />
      </Table.Td>
      <Table.Td>
        {worker.version}
        {worker.isStale && (
          <Text span size="xs" c="dimmed">
            {' '}
            (outdated)
          </Text>
        )}
      </Table.Td>
      <Table.Td>{worker.gpuTypeId ? `${worker.gpuCount} × ${worker.gpuTypeId}` : NO_VALUE}</Table.Td>
      <Table.Td>{worker.dataCenterId ?? NO_VALUE}</Table.Td>
      <Table.Td className="figure">
        {worker.startedAt ? formatDuration(Math.max(0, now - Date.parse(worker.startedAt))) : NO_VALUE}
      </Table.Td>
      <Table.Td>
        <ReasonCell reason={worker.reason} />
      </Table.Td>
    </Table.Tr>
  );
}

/** The time in ms, updated every second. */
function useNow(): number {
  const [now, setNow] = useState(Date.now());
  useInterval(() => setNow(Date.now()), 1_000, { autoInvoke: true });
  return now;
}
