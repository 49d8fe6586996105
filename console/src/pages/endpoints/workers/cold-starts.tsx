import '../../../ui/charts/charts.css';
import { Anchor, Group, Stack, Table, Text, useComputedColorScheme } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useEffect } from 'react';
import { api, type Schemas, unwrap } from '../../../api/client.ts';
import { CHART_COLORS } from '../../../ui/charts/series.ts';
import { SmallTable } from '../../../ui/tables/small-table.tsx';
import { formatDuration } from '../../../ui/text/format.ts';
import { RelativeTime } from '../../../ui/text/relative-time-view.tsx';
import type { EndpointTabProps } from '../endpoint-tab-props.ts';
import { STAGES, segmentsOf, startMs, timelineText } from './start-stages.ts';

type Start = Schemas['WorkerStart'];

/** Starts that are shown at first. */
const SHOWN = 8;

/** The last starts of workers, and where their time went. */
export function ColdStarts(props: EndpointTabProps & { now: number; onChoose: (workerId: string) => void }) {
  const starts = useStarts(props)?.slice(0, SHOWN);
  const { now, onChoose } = props;
  if (!starts || starts.length === 0) return null;
  const longestMs = Math.max(...starts.map(({ timeline }) => startMs(timeline, now)));
  return (
    <Stack gap="xs">
      <Group justify="space-between" mt="sm">
        <Text size="sm" fw={600}>
          Cold starts
        </Text>
        <Legend />
      </Group>
      <SmallTable label="Cold starts" titles={['Worker', 'Started', 'Outcome', 'Took', 'Stages']} minWidth={760}>
        {starts.map((start) => (
          <StartRow key={start.workerId} start={start} longestMs={longestMs} now={now} onChoose={onChoose} />
        ))}
      </SmallTable>
    </Stack>
  );
}

function StartRow(props: { start: Start; longestMs: number; now: number; onChoose: (workerId: string) => void }) {
  const { start, longestMs, now, onChoose } = props;
  const { workerId, createdAt, ready, failed, timeline } = start;
  return (
    <Table.Tr>
      <Table.Td>
        <Anchor component="button" type="button" size="sm" ff="monospace" onClick={() => onChoose(workerId)}>
          {workerId}
        </Anchor>
      </Table.Td>
      <Table.Td>
        <RelativeTime at={createdAt} />
      </Table.Td>
      <Table.Td {...(failed ? { className: 'bad' } : {})}>
        {failed ? 'Not ready' : ready ? 'Ready' : 'In progress'}
      </Table.Td>
      <Table.Td className="figure">{formatDuration(startMs(timeline, now))}</Table.Td>
      <Table.Td w="45%">
        <StageBar timeline={timeline} longestMs={longestMs} now={now} />
      </Table.Td>
    </Table.Tr>
  );
}

function StageBar({ timeline, longestMs, now }: { timeline: Start['timeline']; longestMs: number; now: number }) {
  const scheme = useComputedColorScheme('light');
  const text = timelineText(timeline, now);
  return (
    <div className="stage-bar" role="img" aria-label={text} title={text}>
      {segmentsOf(timeline, longestMs, now).map(({ key, stage, percent }) => (
        <span key={key} style={{ width: `${percent}%`, background: CHART_COLORS[STAGES[stage].color][scheme] }} />
      ))}
    </div>
  );
}

function Legend() {
  const scheme = useComputedColorScheme('light');
  return (
    <Group gap="sm">
      {Object.values(STAGES).map(({ label, color }) => (
        <Group key={label} gap={6} wrap="nowrap">
          <span className="legend-dot" style={{ background: CHART_COLORS[color][scheme] }} />
          <Text size="xs">{label}</Text>
        </Group>
      ))}
    </Group>
  );
}

/** Read again whenever a worker comes, leaves or becomes ready. */
function useStarts({ endpoint: { id }, snapshot }: EndpointTabProps): Start[] | undefined {
  const query = useQuery({
    queryKey: ['endpoint', id, 'starts'],
    queryFn: () =>
      unwrap(api.GET('/v2/serverless/{id}/workers', { params: { path: { id }, query: { include: 'STARTS' } } })),
  });
  const { refetch } = query;
  const workers = snapshot?.workers.map((worker) => `${worker.id} ${worker.status}`).join();
  // biome-ignore lint/correctness/useExhaustiveDependencies: another list of workers means another start
  useEffect(() => void refetch(), [workers, refetch]);
  return query.data?.starts;
}
