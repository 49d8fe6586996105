import { Button, SimpleGrid, Table, Tooltip, UnstyledButton } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { lazy, useState } from 'react';
import { api, type Schemas, unwrap } from '../../../api/client.ts';
import { ChartPanel } from '../../../ui/charts/chart-panel.tsx';
import type { Series, Unit } from '../../../ui/charts/series.ts';
import { Hint } from '../../../ui/hint.tsx';
import { EmptyNote, Loaded } from '../../../ui/page.tsx';
import { SmallTable } from '../../../ui/tables/small-table.tsx';
import { formatCount, formatDate } from '../../../ui/text/format.ts';
import { RelativeTime } from '../../../ui/text/relative-time-view.tsx';
import type { Endpoint } from '../settings/endpoint-values.ts';
import {
  type ChartEvent,
  chartEvents,
  chartMarks,
  type EventGroup,
  groupEvents,
  KEPT_DECISIONS,
} from './chart-events.ts';
import { type ChartPoint, chartPoints, type Range, STEP_OF } from './history-points.ts';

const TimeChart = lazy(async () => ({ default: (await import('../../../ui/charts/charts.tsx')).TimeChart }));

const REFRESH_MS = 60_000;

interface Chart {
  title: string;
  series: Series[];
  areMeasurements?: true;
  unit?: Unit;
  hasFractions?: true;
  /** Shown before all are expanded. */
  isFirst?: true;
}

const WORDS: Record<Range, string> = { '1h': 'hour', '24h': '24 hours', '7d': '7 days', '30d': '30 days' };

const PERCENTILE_COLORS = { P50: 'teal', P95: 'blue', P99: 'violet' } as const;
const percentiles = (title: string, name: string): Chart => ({
  title,
  unit: 'ms',
  series: (['P50', 'P95', 'P99'] as const).map((label) => ({
    name: name + label,
    label: label.toLowerCase(),
    color: PERCENTILE_COLORS[label],
  })),
  areMeasurements: true,
});

const JOBS: Chart[] = [
  {
    title: 'Jobs ended',
    isFirst: true,
    series: [
      { name: 'completed', label: 'Completed', color: 'green' },
      { name: 'failed', label: 'Failed', color: 'red' },
      { name: 'timedOut', label: 'Timed out', color: 'orange' },
      { name: 'cancelled', label: 'Cancelled', color: 'violet' },
    ],
  },
  { ...percentiles('Latency', 'latency'), isFirst: true },
  percentiles('Queue time', 'wait'),
  percentiles('Execution time', 'run'),
];
const REQUESTS: Chart[] = [
  {
    title: 'Requests',
    isFirst: true,
    series: [
      { name: 'success', label: '2xx', color: 'green' },
      { name: 'redirect', label: '3xx', color: 'blue' },
      { name: 'clientError', label: '4xx', color: 'orange' },
      { name: 'serverError', label: '5xx', color: 'red' },
    ],
  },
  { ...percentiles('Latency', 'latency'), isFirst: true },
];
const COMMON: Chart[] = [
  {
    title: 'Queued and running',
    isFirst: true,
    series: [
      { name: 'queued', label: 'Queued', color: 'orange' },
      { name: 'inProgress', label: 'Running', color: 'teal' },
    ],
    hasFractions: true,
  },
  {
    title: 'Workers',
    isFirst: true,
    series: [
      { name: 'workersRunning', label: 'Running', color: 'green' },
      { name: 'workersIdle', label: 'Idle', color: 'teal' },
      { name: 'workersInitializing', label: 'Initializing', color: 'blue' },
      { name: 'workersThrottled', label: 'Throttled', color: 'orange' },
      { name: 'workersUnhealthy', label: 'Unhealthy', color: 'red' },
    ],
  },
  {
    title: 'Workers that came and left',
    series: [
      { name: 'coldStarts', label: 'Became ready', color: 'green' },
      { name: 'workersEnded', label: 'Ended', color: 'blue' },
      { name: 'workersLost', label: 'Lost', color: 'red' },
    ],
  },
  percentiles('Cold start', 'start'),
  { title: 'GPU time', series: [{ name: 'gpuSeconds', label: 'GPU time', color: 'violet' }], unit: 's' },
  { title: 'Cost', series: [{ name: 'cost', label: 'Cost', color: 'teal' }], hasFractions: true, unit: 'usd' },
];

/** Charts of the past, from what the server keeps. */
export function HistoryCharts({ endpoint, range }: { endpoint: Endpoint; range: Range }) {
  const { id, type } = endpoint;
  const query = useQuery({
    queryKey: ['history', id, range],
    refetchInterval: REFRESH_MS,
    queryFn: () =>
      unwrap(
        api.GET('/v2/serverless/{id}/history', { params: { path: { id }, query: { range, step: STEP_OF[range] } } }),
      ),
  });
  const { releases, decisions } = useEvents(id, query.data?.until);
  const [isAll, setAll] = useState(false);
  const charts = [...(type === 'LOAD_BALANCER' ? REQUESTS : JOBS), ...COMMON];
  return (
    <Loaded query={query}>
      {(history) => {
        const points = chartPoints(history);
        const events = chartEvents(history, releases, decisions);
        const marks = chartMarks(events, history.stepSeconds);
        const shown = isAll ? charts : charts.filter((chart) => chart.isFirst && hasValues(chart, points));
        return (
          <>
            <ChartEventList events={events} history={history} />
            {shown.length === 0 ? (
              <EmptyNote>Nothing to draw in the last {WORDS[range]}.</EmptyNote>
            ) : (
              <SimpleGrid cols={{ base: 1, md: 2 }}>
                {shown.map((chart) => (
                  <ChartPanel key={chart.title} title={chart.title}>
                    <TimeChart
                      label={`${chart.title} over the last ${range}`}
                      points={points}
                      series={chart.series}
                      areMeasurements={chart.areMeasurements ?? false}
                      hasFractions={chart.hasFractions ?? false}
                      isLong={history.stepSeconds >= 3600}
                      marks={marks}
                      canZoom
                      {...(chart.unit && { unit: chart.unit })}
                    />
                  </ChartPanel>
                ))}
              </SimpleGrid>
            )}
            {!isAll && (
              <Button variant="default" size="xs" w="max-content" onClick={() => setAll(true)}>
                Show all {charts.length} charts
              </Button>
            )}
          </>
        );
      }}
    </Loaded>
  );
}

/** False for a chart that would be a line at zero, or none. */
function hasValues({ series }: Chart, points: readonly ChartPoint[]): boolean {
  return points.some((point) => series.some(({ name }) => (point[name] ?? 0) > 0));
}

/** The releases and the last decisions, read again with each minute of the history. */
function useEvents(id: string, until: string | undefined) {
  const params = { path: { id } };
  const releases = useQuery({
    queryKey: ['releases', id, 'without images'],
    queryFn: () => unwrap(api.GET('/v2/serverless/{id}/releases', { params })),
  });
  const decisions = useQuery({
    queryKey: ['decisions', id, 'all', until],
    enabled: until !== undefined,
    placeholderData: (before) => before,
    queryFn: () =>
      unwrap(api.GET('/v2/serverless/{id}/decisions', { params: { ...params, query: { limit: KEPT_DECISIONS } } })),
  });
  return { releases: releases.data?.releases ?? [], decisions: decisions.data?.decisions ?? [] };
}

const SLOTS = 40;
const SHOWN = 6;

/** The events of a period on a line, each readable by pointer and keyboard, and as a table. */
function ChartEventList({ events, history }: { events: readonly ChartEvent[]; history: Schemas['History'] }) {
  if (events.length === 0) {
    return <Hint>No releases, and no workers that came or left, in this period.</Hint>;
  }
  return (
    <div>
      <ul className="event-line" aria-label="Events of the period">
        {groupEvents(events, history, SLOTS).map((group) => (
          <li key={group.position} style={{ left: `${group.position * 100}%` }}>
            <EventMark group={group} />
          </li>
        ))}
      </ul>
      <details>
        <summary>{formatCount(events.length, 'event')}</summary>
        <SmallTable label="Events of the period" titles={['When', 'What', 'Why']} minWidth={560} mt="xs">
          {events.map((event, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: two events may be equal
            <Table.Tr key={index}>
              <Table.Td>
                <RelativeTime at={event.at} />
              </Table.Td>
              <Table.Td {...(event.kind === 'lost' ? { className: 'bad' } : {})}>{event.title}</Table.Td>
              <Table.Td>{event.reason}</Table.Td>
            </Table.Tr>
          ))}
        </SmallTable>
      </details>
    </div>
  );
}

function EventMark({ group: { kind, events } }: { group: EventGroup }) {
  const lines = events.slice(0, SHOWN).map(lineOf);
  if (events.length > SHOWN) lines.push(`and ${events.length - SHOWN} more`);
  return (
    <Tooltip
      multiline
      maw={420}
      events={{ hover: true, focus: true, touch: true }}
      label={lines.map((line, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: two events may be equal
        <div key={index}>{line}</div>
      ))}
    >
      <UnstyledButton className="event-mark" data-kind={kind} aria-label={lines.join('. ')} />
    </Tooltip>
  );
}

function lineOf({ at, title, reason }: ChartEvent): string {
  return `${formatDate(new Date(at).toISOString())}: ${title}${reason === '' ? '' : `: ${reason}`}`;
}
