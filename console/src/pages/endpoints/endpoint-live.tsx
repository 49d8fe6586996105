import { Paper, Progress, SimpleGrid, Stack, Text } from '@mantine/core';
import { lazy } from 'react';
import { type EndpointSnapshot, queuedOf, runningOf } from '../../api/live-snapshots.ts';
import type { Series } from '../../ui/chart-colors.ts';
import { ChartPanel } from '../../ui/chart-panel.tsx';
import { Figures } from '../../ui/figures.tsx';
import type { EndpointTabProps } from './endpoint-tab-props.ts';
import { rolloutText } from './release-text.ts';
import { useHistory } from './use-history.ts';
import { WorkerTable } from './worker-table.tsx';

const TimeChart = lazy(async () => ({ default: (await import('../../ui/charts.tsx')).TimeChart }));

const WORK: Series[] = [
  { name: 'queued', label: 'Queued', color: 'orange' },
  { name: 'running', label: 'Running', color: 'teal' },
];
const LATENCY: Series[] = [
  { name: 'queueTime', label: 'Queue time', color: 'orange' },
  { name: 'executionTime', label: 'Execution time', color: 'teal' },
];
const WORKERS: Series[] = [
  { name: 'workersRunning', label: 'Running', color: 'green' },
  { name: 'workersIdle', label: 'Idle', color: 'teal' },
  { name: 'workersInitializing', label: 'Initializing', color: 'blue' },
  { name: 'workersThrottled', label: 'Throttled', color: 'orange' },
  { name: 'workersUnhealthy', label: 'Unhealthy', color: 'red' },
];

export function EndpointLive({ endpoint, snapshot }: EndpointTabProps) {
  return (
    <Stack>
      <Figures
        figures={[
          { label: 'Queued', value: queuedOf(snapshot) },
          { label: 'Running', value: runningOf(snapshot) },
          { label: 'Completed', value: snapshot?.jobs.completed },
          { label: 'Failed', value: snapshot?.jobs.failed },
          { label: 'Workers', value: snapshot?.summary.total },
          { label: 'Max workers', value: endpoint.workers.max },
        ]}
      />
      {snapshot?.rollout.inProgress && <RolloutProgress snapshot={snapshot} />}
      <Charts endpoint={endpoint} snapshot={snapshot} />
      <WorkerTable endpoint={endpoint} snapshot={snapshot} />
    </Stack>
  );
}

function RolloutProgress({ snapshot: { rollout, endpointVersion } }: { snapshot: EndpointSnapshot }) {
  return (
    <Paper withBorder p="sm">
      <Text size="sm" mb={6}>
        {rolloutText(rollout, endpointVersion)}
      </Text>
      <Progress value={rollout.percentOnLatest} aria-label="Rollout" />
    </Paper>
  );
}

/** Charts of the last minutes. Latency is measured for jobs only. */
function Charts({ endpoint, snapshot }: EndpointTabProps) {
  const points = useHistory(snapshot);
  const isLoadBalancer = endpoint.type === 'LOAD_BALANCING';
  const work = isLoadBalancer ? 'Requests' : 'Jobs';
  return (
    <SimpleGrid cols={{ base: 1, md: isLoadBalancer ? 2 : 3 }}>
      <ChartPanel title={work}>
        <TimeChart label={`${work} queued and running over time`} points={points} series={WORK} />
      </ChartPanel>
      <ChartPanel title="Workers">
        <TimeChart label="Workers by status over time" points={points} series={WORKERS} />
      </ChartPanel>
      {!isLoadBalancer && (
        <ChartPanel title="p95 latency (ms)">
          <TimeChart label="p95 queue time and execution time" points={points} series={LATENCY} areMeasurements />
        </ChartPanel>
      )}
    </SimpleGrid>
  );
}
