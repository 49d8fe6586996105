import { Badge, Code, Group, Paper, Stack, Text, Timeline } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useEffect } from 'react';
import { api, unwrap } from '../../api/client.ts';
import type { EndpointSnapshot } from '../../api/live-types.ts';
import { formatDate } from '../../ui/format.ts';
import { Loaded } from '../../ui/page.tsx';
import type { Endpoint } from './endpoint-values.ts';

const COLORS: Record<string, string> = { start: 'blue', thaw: 'cyan', freeze: 'indigo', drain: 'orange', stop: 'gray' };

/** What the scaler did and why, in its own sentences. */
export function Decisions({ endpoint, snapshot }: { endpoint: Endpoint; snapshot: EndpointSnapshot | undefined }) {
  const { id } = endpoint;
  const query = useQuery({
    queryKey: ['decisions', id],
    queryFn: () => unwrap(api.GET('/v2/serverless/{id}/decisions', { params: { path: { id }, query: { limit: 50 } } })),
  });
  const { refetch } = query;
  const workers = snapshot?.workers.map((worker) => worker.id + worker.status).join();
  // biome-ignore lint/correctness/useExhaustiveDependencies: workers that come or go mean a decision
  useEffect(() => void refetch(), [workers, refetch]);
  return (
    <Loaded query={query}>
      {({ decisions }) =>
        decisions.length === 0 ? (
          <Paper withBorder p="md">
            <Text size="sm" c="dimmed" ta="center">
              Nothing was decided yet. Each time workers start, freeze or stop, the reason appears here.
            </Text>
          </Paper>
        ) : (
          <Timeline bulletSize={14} lineWidth={2}>
            {decisions.map((decision) => (
              <Timeline.Item key={decision.at} title={decision.reason}>
                <Text size="xs" c="dimmed">
                  {formatDate(decision.at)} · {decision.wanted} {decision.wanted === 1 ? 'worker' : 'workers'} wanted
                </Text>
                <Stack gap={4} mt={4}>
                  {decision.actions.map(({ kind, workerId, reason }) => (
                    <Group key={kind + workerId} gap="xs">
                      <Badge size="sm" tt="none" variant="light" color={COLORS[kind] ?? 'gray'}>
                        {kind}
                      </Badge>
                      <Code>{workerId}</Code>
                      <Text size="sm">{reason}</Text>
                    </Group>
                  ))}
                </Stack>
                <details>
                  <summary>
                    <Text span size="xs" c="dimmed">
                      What it was made of
                    </Text>
                  </summary>
                  <Code block fz="xs">
                    {JSON.stringify(decision.inputs, null, 2)}
                  </Code>
                </details>
              </Timeline.Item>
            ))}
          </Timeline>
        )
      }
    </Loaded>
  );
}
