import { Paper, Skeleton, Text } from '@mantine/core';
import { type EndpointSnapshot, queuedOf, runningOf } from '../../../api/live-snapshots.ts';
import { Sparkline } from '../../../ui/charts/sparkline.tsx';
import { formatNumber } from '../../../ui/text/format.ts';
import type { EndpointTabProps } from '../endpoint-tab-props.ts';
import { queueNote } from '../state-text.ts';
import { type HistoryPoint, useHistory } from './history.ts';

interface Figure {
  label: string;
  value: number | undefined;
  note?: string | undefined;
  /** The values of the last minutes, for those that go up and down. */
  course?: (point: HistoryPoint) => number;
}

/** The endpoint's work at this moment, on one line. */
export function LiveStrip({ endpoint, snapshot }: EndpointTabProps) {
  const points = useHistory(snapshot);
  return (
    <Paper withBorder className="live-strip" component="dl" m={0}>
      {figuresOf(endpoint, snapshot).map(({ label, value, note, course }) => (
        <div key={label}>
          <Text component="dt" size="xs" c="dimmed">
            {label}
          </Text>
          <dd>
            {value === undefined ? (
              <Skeleton h={22} w={40} />
            ) : (
              <>
                <span className="figure live-value">{formatNumber(value)}</span>
                {note && <span className="live-note">{note}</span>}
                {course && <Sparkline label={`${label}, last minutes`} values={points.map(course)} />}
              </>
            )}
          </dd>
        </div>
      ))}
    </Paper>
  );
}

/** Jobs are counted since the endpoint was made; requests are in the charts below. */
function figuresOf({ type, workers }: EndpointTabProps['endpoint'], snapshot: EndpointSnapshot | undefined): Figure[] {
  return [
    {
      label: 'Queued',
      value: queuedOf(snapshot),
      note: queueNote(snapshot),
      course: ({ queued }) => queued,
    },
    { label: 'Running', value: runningOf(snapshot), course: ({ running }) => running },
    {
      label: 'Workers',
      value: snapshot?.summary.total,
      note: `of ${formatNumber(workers.max)}`,
      course: (point) => point.workersRunning + point.workersIdle + point.workersInitializing,
    },
    ...(type === 'LOAD_BALANCER'
      ? []
      : [
          { label: 'Completed', value: snapshot?.jobs.completed },
          { label: 'Failed', value: snapshot?.jobs.failed },
        ]),
  ];
}
