import { Alert, Drawer, Group, Progress, Stack, Table, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { api, type Schemas, unwrap } from '../../api/client.ts';
import { formatDate, formatDuration } from '../../ui/format.ts';
import { LogView } from '../../ui/log-view.tsx';
import { Loaded } from '../../ui/page.tsx';
import { Status } from '../../ui/status.tsx';

const STAGES: Record<string, string> = {
  capacity: 'Waited for a place',
  pull: 'Brought the image',
  create: 'Made the container',
  start: 'Started it',
  ready: 'Loaded, until ready',
};

/** One worker: why it is there, how its start went, and its log. */
export function WorkerDrawer(props: { endpointId: string; workerId: string | null; onClose: () => void }) {
  return (
    <Drawer
      opened={props.workerId !== null}
      onClose={props.onClose}
      position="right"
      size="xl"
      title={props.workerId === null ? '' : `Worker ${props.workerId}`}
    >
      {props.workerId !== null && <WorkerView endpointId={props.endpointId} workerId={props.workerId} />}
    </Drawer>
  );
}

function WorkerView({ endpointId, workerId }: { endpointId: string; workerId: string }) {
  const query = useQuery({
    queryKey: ['worker', workerId],
    // Its stages are no part of the live view; once it is ready nothing of this changes.
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
              <Status value={worker.status} />
              <Text size="sm">version {worker.version}</Text>
              <Text size="sm">made {formatDate(worker.createdAt)}</Text>
            </Group>
            <Text size="sm">{worker.decision}</Text>
            {worker.reason && <Alert color={worker.status === 'UNHEALTHY' ? 'red' : 'orange'}>{worker.reason}</Alert>}
            <StageTable timeline={worker.timeline} />
          </>
        )}
      </Loaded>
      <LogView path={`/v2/serverless/${endpointId}/workers/${workerId}/logs`} />
    </Stack>
  );
}

function StageTable({ timeline }: { timeline: Schemas['WorkerDetail']['timeline'] }) {
  const longest = Math.max(1, ...timeline.map(({ ms }) => ms ?? 0));
  if (timeline.length === 0) return null;
  return (
    <Table aria-label="Stages of its start">
      <Table.Tbody>
        {timeline.map(({ stage, ms }) => (
          <Table.Tr key={stage}>
            <Table.Td w={190}>{STAGES[stage] ?? stage}</Table.Td>
            <Table.Td>
              <Progress
                value={(100 * (ms ?? 0)) / longest}
                aria-label={STAGES[stage] ?? stage}
                animated={ms === null}
              />
            </Table.Td>
            <Table.Td w={100} className="figure" ta="right">
              {ms === null ? 'now' : formatDuration(ms)}
            </Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  );
}
