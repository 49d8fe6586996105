import { Alert, SegmentedControl, SimpleGrid, Stack } from '@mantine/core';
import { lazy } from 'react';
import { useSearchParams } from 'react-router';
import type { EndpointSnapshot } from '../../../api/live-snapshots.ts';
import { ChartPanel } from '../../../ui/charts/chart-panel.tsx';
import type { Series } from '../../../ui/charts/series.ts';
import { rowOf } from '../../../ui/text/labels.ts';
import { ReasonAlert } from '../../../ui/text/reason-view.tsx';
import { ENDPOINT_STATES, needsAttention } from '../endpoint-states.ts';
import type { EndpointTabProps } from '../endpoint-tab-props.ts';
import { RolloutPanel } from '../releases/rollout-panel.tsx';
import { isBrief, isQueueFull, queueText, stateTitle } from '../state-text.ts';
import { WorkerTable } from '../workers/worker-table.tsx';
import { CallLine } from './call-line.tsx';
import { useHistory } from './history.ts';
import { HistoryCharts } from './history-charts.tsx';
import type { Range } from './history-points.ts';
import { LiveStrip } from './live-strip.tsx';

const TimeChart = lazy(async () => ({ default: (await import('../../../ui/charts/charts.tsx')).TimeChart }));

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

const PERIODS: { value: 'live' | Range; label: string }[] = [
  { value: 'live', label: 'Live' },
  { value: '1h', label: '1 h' },
  { value: '24h', label: '24 h' },
  { value: '7d', label: '7 d' },
  { value: '30d', label: '30 d' },
];
const FIRST_PERIOD = '1h';

/** Opens on what matters: why the state is as it is, what happens now, how to call it, and the last hour. */
export function EndpointOverview({ endpoint, snapshot }: EndpointTabProps) {
  const [params, setParams] = useSearchParams();
  const period = PERIODS.find(({ value }) => value === params.get('range'))?.value ?? FIRST_PERIOD;
  return (
    <Stack>
      {snapshot && <EndpointStateAlerts state={snapshot.state} />}
      {snapshot && <QueueNote snapshot={snapshot} />}
      <LiveStrip endpoint={endpoint} snapshot={snapshot} />
      <CallLine endpoint={endpoint} />
      {snapshot?.rollout.inProgress && <RolloutPanel endpointId={endpoint.id} snapshot={snapshot} />}
      <SegmentedControl
        aria-label="Period of the charts"
        data={PERIODS}
        value={period}
        onChange={(value) => setParams(value === FIRST_PERIOD ? {} : { range: value }, { replace: true })}
        w="max-content"
      />
      {period === 'live' ? (
        <LiveCharts endpoint={endpoint} snapshot={snapshot} />
      ) : (
        <HistoryCharts key={period} endpoint={endpoint} range={period} />
      )}
      <WorkerTable endpoint={endpoint} snapshot={snapshot} />
    </Stack>
  );
}

/** The limit of the queue and its reason, where it is near or lower than one would think. */
function QueueNote({ snapshot }: { snapshot: EndpointSnapshot }) {
  const text = queueText(snapshot);
  return text === null ? null : <Alert color={isQueueFull(snapshot) ? 'orange' : 'gray'}>{text}</Alert>;
}

/** Charts of the last minutes. Latency is measured for jobs only. */
function LiveCharts({ endpoint, snapshot }: EndpointTabProps) {
  const points = useHistory(snapshot);
  const isLoadBalancer = endpoint.type === 'LOAD_BALANCER';
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
        <ChartPanel title="p95 latency">
          <TimeChart
            label="p95 queue time and execution time"
            points={points}
            series={LATENCY}
            unit="ms"
            areMeasurements
          />
        </ChartPanel>
      )}
    </SimpleGrid>
  );
}

/** The whole reason for a state, if the header's line has only its end, and warnings. */
function EndpointStateAlerts({ state }: { state: EndpointSnapshot['state'] }) {
  return (
    <>
      <StateAlert state={state} />
      {state.warnings.map((warning) => (
        <ReasonAlert key={warning} color="orange" reason={warning} />
      ))}
    </>
  );
}

function StateAlert({ state }: { state: EndpointSnapshot['state'] }) {
  if (!needsAttention(state.state) || state.reason === null || isBrief(state.reason)) return null;
  return (
    <ReasonAlert
      color={rowOf(ENDPOINT_STATES, state.state)?.color ?? 'blue'}
      title={stateTitle(state)}
      reason={state.reason}
    />
  );
}
