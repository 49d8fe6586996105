import { Anchor, Paper, Progress, SimpleGrid, Skeleton, Stack, Table, Text } from '@mantine/core';
import { useInterval } from '@mantine/hooks';
import { lazy, useState } from 'react';
import type { EndpointSnapshot } from '../../api/live-types.ts';
import { ChartPanel } from '../../ui/chart-panel.tsx';
import { Figures } from '../../ui/figures.tsx';
import { formatDuration } from '../../ui/format.ts';
import { SmallTable } from '../../ui/small-table.tsx';
import { Status } from '../../ui/status.tsx';
import type { Endpoint } from './endpoint-values.ts';
import { useHistory } from './history.ts';
import { WorkerDrawer } from './worker-drawer.tsx';

const TimeChart = lazy(async () => ({ default: (await import('../../ui/charts.tsx')).TimeChart }));

const JOBS = [
  { name: 'inQueue', label: 'waiting', color: '#f08c00' },
  { name: 'inProgress', label: 'running', color: '#0b7285' },
];
const TIMES = [
  { name: 'wait', label: 'waited', color: '#f08c00' },
  { name: 'execution', label: 'ran', color: '#0b7285' },
];
const WORKERS = [
  { name: 'running', label: 'running', color: '#2b8a3e' },
  { name: 'idle', label: 'idle', color: '#0b7285' },
  { name: 'initializing', label: 'initializing', color: '#1971c2' },
  { name: 'throttled', label: 'throttled', color: '#f08c00' },
  { name: 'unhealthy', label: 'unhealthy', color: '#c92a2a' },
];

export function EndpointLive({ endpoint, snapshot }: { endpoint: Endpoint; snapshot: EndpointSnapshot | undefined }) {
  const points = useHistory(snapshot);
  const work = endpoint.type === 'LOAD_BALANCING' ? 'Requests' : 'Jobs';
  const { jobs, requests, rollout } = snapshot ?? {};
  return (
    <Stack>
      <Figures
        figures={[
          { label: 'Waiting', value: jobs && requests && jobs.inQueue + requests.held },
          { label: 'Running', value: jobs && requests && jobs.inProgress + requests.inFlight },
          { label: 'Completed', value: jobs?.completed },
          { label: 'Failed', value: jobs?.failed },
          { label: 'Workers', value: snapshot?.summary.total },
          { label: 'At most', value: endpoint.workers.max },
        ]}
      />
      {rollout?.inProgress && (
        <Paper withBorder p="sm">
          <Text size="sm" mb={6}>
            Version {snapshot?.endpointVersion} rolls out{rollout.paused ? ' (paused)' : ''}: {rollout.workersOnLatest}{' '}
            of {rollout.workersTotal} workers run it.
          </Text>
          <Progress value={rollout.percentOnLatest} aria-label="Roll-out" />
        </Paper>
      )}
      <SimpleGrid cols={{ base: 1, md: endpoint.type === 'LOAD_BALANCING' ? 2 : 3 }}>
        <ChartPanel title={work}>
          <TimeChart label={`${work} that wait and that run, over the last minutes`} points={points} series={JOBS} />
        </ChartPanel>
        <ChartPanel title="Workers">
          <TimeChart label="Workers by state, over the last minutes" points={points} series={WORKERS} />
        </ChartPanel>
        {endpoint.type !== 'LOAD_BALANCING' && (
          <ChartPanel title="Times of 95 % of the jobs, ms">
            <TimeChart
              label="How long jobs waited and ran, over the last minutes"
              points={points}
              series={TIMES}
              areMeasurements
            />
          </ChartPanel>
        )}
      </SimpleGrid>
      <WorkerTable endpoint={endpoint} snapshot={snapshot} />
    </Stack>
  );
}

function WorkerTable({ endpoint, snapshot }: { endpoint: Endpoint; snapshot: EndpointSnapshot | undefined }) {
  const now = useNow();
  const [shown, setShown] = useState<string | null>(null);
  if (!snapshot) return <Skeleton h={120} />;
  if (snapshot.workers.length === 0) {
    return (
      <Paper withBorder p="md">
        <Text size="sm" c="dimmed" ta="center">
          {endpoint.workers.max === 0
            ? 'The endpoint is stopped: its maximum of workers is 0. Jobs wait until it is raised.'
            : 'No worker runs. One starts as soon as there is work: send a request to see it.'}
        </Text>
      </Paper>
    );
  }
  return (
    <Paper withBorder>
      <WorkerDrawer endpointId={endpoint.id} workerId={shown} onClose={() => setShown(null)} />
      <SmallTable
        label="Workers"
        titles={['Worker', 'State', 'Version', 'GPU', 'Data center', 'Up for']}
        minWidth={520}
        verticalSpacing="xs"
      >
        {snapshot.workers.map((worker) => (
          <Table.Tr key={worker.id}>
            <Table.Td>
              <Anchor component="button" type="button" size="sm" ff="monospace" onClick={() => setShown(worker.id)}>
                {worker.id}
              </Anchor>
            </Table.Td>
            <Table.Td>
              <Status value={worker.status} />
            </Table.Td>
            <Table.Td>
              {worker.version}
              {worker.isStale && (
                <Text span size="xs" c="dimmed">
                  {' '}
                  (old)
                </Text>
              )}
            </Table.Td>
            <Table.Td>{worker.gpuTypeId ? `${worker.gpuCount} × ${worker.gpuTypeId}` : '–'}</Table.Td>
            <Table.Td>{worker.dataCenterId ?? '–'}</Table.Td>
            <Table.Td className="figure">
              {worker.startedAt ? formatDuration(Math.max(0, now - Date.parse(worker.startedAt))) : '–'}
            </Table.Td>
          </Table.Tr>
        ))}
      </SmallTable>
    </Paper>
  );
}

function useNow(): number {
  const [now, setNow] = useState(Date.now());
  useInterval(() => setNow(Date.now()), 1_000, { autoInvoke: true });
  return now;
}
