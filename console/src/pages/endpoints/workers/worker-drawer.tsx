import { Drawer, Group, Progress, Stack, Table, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { api, unwrap } from '../../../api/client.ts';
import { PartLog } from '../../../ui/logs/log-view.tsx';
import { Loaded } from '../../../ui/page.tsx';
import { formatDate, formatDuration } from '../../../ui/text/format.ts';
import { rowOf } from '../../../ui/text/labels.ts';
import { ReasonAlert } from '../../../ui/text/reason-view.tsx';
import { Status } from '../../../ui/text/status.tsx';
import { Utilization } from '../../../ui/utilization.tsx';
import { STAGES, type Timeline } from './start-stages.ts';
import { WORKER_STATUSES } from './worker-status.ts';

/** The states in which a worker uses anything. */
const RUNS = new Set(['RUNNING', 'IDLE', 'UNHEALTHY']);

/** One worker: why it exists, how its startup went, and its log. */
export function WorkerDrawer(props: { endpointId: string; workerId: string | null; onClose: () => void }) {
  const { endpointId, workerId, onClose } = props;
  return (
    <Drawer
      opened={workerId !== null}
      onClose={onClose}
      position="right"
      size="xl"
      title={workerId === null ? '' : `Worker ${workerId}`}
    >
      {workerId !== null && <WorkerView endpointId={endpointId} workerId={workerId} />}
    </Drawer>
  );
}

function WorkerView({ endpointId, workerId }: { endpointId: string; workerId: string }) {
  const query = useQuery({
    queryKey: ['worker', workerId],
    // The live view leaves the startup timeline out. It changes only until the worker is ready.
    refetchInterval: ({ state }) => (state.data?.status === 'INITIALIZING' ? 1_000 : false),
    queryFn: () =>
      unwrap(api.GET('/v2/serverless/{id}/workers/{workerId}', { params: { path: { id: endpointId, workerId } } })),
  });
  return (
    <Stack>
      <Loaded query={query}>
        {(worker) => (
          <>
            <Group gap="md">
              <Status table={WORKER_STATUSES} value={worker.status} />
              {worker.version !== null && <Text size="sm">Version {worker.version}</Text>}
              <Text size="sm">Created {formatDate(worker.createdAt)}</Text>
            </Group>
            <Text size="sm">{worker.decision}</Text>
            {worker.reason && (
              <ReasonAlert
                color={rowOf(WORKER_STATUSES, worker.status)?.reasonColor ?? 'orange'}
                reason={worker.reason}
              />
            )}
            <StartupTimeline timeline={worker.timeline} />
            {RUNS.has(worker.status) && <UsageNow endpointId={endpointId} workerId={workerId} />}
          </>
        )}
      </Loaded>
      <PartLog place={`/v2/serverless/${endpointId}`} workerId={workerId} />
    </Stack>
  );
}

/** Read by itself: a runtime that is slow to say it holds up nothing else. */
function UsageNow({ endpointId, workerId }: { endpointId: string; workerId: string }) {
  const { data } = useQuery({
    queryKey: ['worker', workerId, 'usage'],
    refetchInterval: 5_000,
    queryFn: () => {
      const params = { path: { id: endpointId, workerId }, query: { include: 'USAGE' } };
      return unwrap(api.GET('/v2/serverless/{id}/workers/{workerId}', { params }));
    },
  });
  return data?.usage ? <Utilization usage={data.usage} /> : null;
}

function StartupTimeline({ timeline }: { timeline: Timeline }) {
  const longestMs = Math.max(1, ...timeline.map(({ ms }) => ms ?? 0));
  if (timeline.length === 0) return null;
  return (
    <Table aria-label="Startup timeline">
      <Table.Tbody>
        {timeline.map(({ stage, from, ms }) => (
          <Table.Tr key={stage + from}>
            <Table.Td w={170}>{STAGES[stage].label}</Table.Td>
            <Table.Td>
              <Progress value={(100 * (ms ?? 0)) / longestMs} aria-label={STAGES[stage].label} animated={ms === null} />
            </Table.Td>
            <Table.Td w={110} className="figure" ta="right">
              {ms === null ? 'In progress' : formatDuration(ms)}
            </Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  );
}
