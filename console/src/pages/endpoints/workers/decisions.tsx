import { Badge, Code, Group, Stack, Text, Timeline } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useEffect } from 'react';
import { api, type Schemas, unwrap } from '../../../api/client.ts';
import { Hint } from '../../../ui/hint.tsx';
import { EmptyNote, Loaded } from '../../../ui/page.tsx';
import { formatCount } from '../../../ui/text/format.ts';
import { enumLabel } from '../../../ui/text/labels.ts';
import { splitReason } from '../../../ui/text/reason.ts';
import { RelativeTime } from '../../../ui/text/relative-time-view.tsx';
import type { EndpointTabProps } from '../endpoint-tab-props.ts';

type Decision = Schemas['DecisionList']['decisions'][number];

const COLORS: Record<string, string> = {
  start: 'blue',
  thaw: 'cyan',
  freeze: 'indigo',
  drain: 'orange',
  stop: 'gray',
  exit: 'red',
};

/** Why workers came and left. */
export function Decisions({ endpoint, snapshot }: EndpointTabProps) {
  const { id } = endpoint;
  const query = useQuery({
    queryKey: ['decisions', id],
    queryFn: () => unwrap(api.GET('/v2/serverless/{id}/decisions', { params: { path: { id }, query: { limit: 50 } } })),
  });
  const { refetch } = query;
  const workers = snapshot?.workers.map((worker) => worker.id + worker.status).join();
  // biome-ignore lint/correctness/useExhaustiveDependencies: a change of the workers means a new decision
  useEffect(() => void refetch(), [workers, refetch]);
  return (
    <Loaded query={query}>
      {({ decisions }) =>
        decisions.length === 0 ? (
          <EmptyNote>
            No worker has come or left yet. Each arrival and departure is listed here with its reason.
          </EmptyNote>
        ) : (
          <Timeline bulletSize={14} lineWidth={2} styles={{ itemTitle: { lineHeight: 1.4 } }}>
            {decisions.map((decision) => (
              <Timeline.Item
                key={decision.at + decision.actions.map((action) => action.workerId).join()}
                title={splitReason(decision.reason).sentence}
              >
                <DecisionDetails decision={decision} />
              </Timeline.Item>
            ))}
          </Timeline>
        )
      }
    </Loaded>
  );
}

function DecisionDetails({ decision: { at, wanted, actions, inputs } }: { decision: Decision }) {
  return (
    <>
      <Hint size="xs">
        <RelativeTime at={at} /> · Target: {formatCount(wanted, 'worker')}
      </Hint>
      <Stack gap={4} mt={4}>
        {actions.map(({ kind, workerId, reason }) => (
          <Group key={kind + workerId} gap="xs">
            <Badge size="sm" tt="none" variant="dot" color={COLORS[kind] ?? 'gray'}>
              {enumLabel(kind)}
            </Badge>
            <Code>{workerId}</Code>
            <Text size="sm">{splitReason(reason).sentence}</Text>
            <Output text={splitReason(reason).output} />
          </Group>
        ))}
      </Stack>
      {Object.keys(inputs).length > 0 && (
        <details>
          <summary>
            <Text span size="xs" c="dimmed">
              Inputs
            </Text>
          </summary>
          <Code block fz="xs">
            {JSON.stringify(inputs, null, 2)}
          </Code>
        </details>
      )}
    </>
  );
}

/** The last lines that a worker printed. */
function Output({ text }: { text: string }) {
  if (text === '') return null;
  return (
    <Code block fz="xs" w="100%" className="reason">
      {text}
    </Code>
  );
}
