import { Badge, Button, Code, Group, Paper, Progress, Stack, Text } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import { api, type Schemas, unwrap } from '../../api/client.ts';
import type { EndpointSnapshot } from '../../api/live-types.ts';
import { formatDate } from '../../ui/format.ts';
import { showDone } from '../../ui/notify.ts';
import { Loaded } from '../../ui/page.tsx';
import type { Endpoint } from './endpoint-values.ts';

export function Releases({ endpoint, snapshot }: { endpoint: Endpoint; snapshot: EndpointSnapshot | undefined }) {
  const { id } = endpoint;
  const queries = useQueryClient();
  const query = useQuery({
    queryKey: ['releases', id],
    queryFn: () => unwrap(api.GET('/v2/serverless/{id}/releases', { params: { path: { id } } })),
  });
  const version = snapshot?.endpointVersion;
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new version makes the list stale
  useEffect(() => void queries.invalidateQueries({ queryKey: ['releases', id] }), [version, id, queries]);
  const change = useMutation({
    mutationFn: (action: 'pause' | 'resume') =>
      unwrap(api.POST('/v2/serverless/{id}/rollout', { params: { path: { id } }, body: { action } })),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['releases', id] }),
  });
  const rollback = useMutation({
    mutationFn: (releaseId: string) =>
      unwrap(api.POST('/v2/serverless/{id}/releases/{releaseId}/rollback', { params: { path: { id, releaseId } } })),
    onSuccess: (updated) => {
      queries.setQueryData(['endpoint', id], updated);
      void queries.invalidateQueries({ queryKey: ['releases', id] });
      showDone('A new release carries the old settings.');
    },
  });
  return (
    <Loaded query={query}>
      {({ releases, rollout: listed, endpointVersion }) => {
        const rollout = snapshot?.rollout ?? listed;
        return (
          <Stack>
            <Paper withBorder p="md">
              <Group justify="space-between" mb="xs">
                <Text size="sm">
                  {rollout.workersTotal === 0
                    ? 'No worker runs: the next one starts on the newest version.'
                    : `${rollout.workersOnLatest} of ${rollout.workersTotal} workers run version ${endpointVersion}.`}
                  {rollout.paused && ' The roll-out is paused.'}
                </Text>
                <Button
                  size="xs"
                  variant="default"
                  loading={change.isPending}
                  onClick={() => change.mutate(rollout.paused ? 'resume' : 'pause')}
                >
                  {rollout.paused ? 'Resume the roll-out' : 'Pause the roll-out'}
                </Button>
              </Group>
              <Progress value={rollout.percentOnLatest} aria-label="Roll-out" />
            </Paper>
            {releases.map((release) => (
              <ReleaseCard
                key={release.id}
                release={release}
                isNewest={release.version === endpointVersion}
                isBusy={rollback.isPending}
                onRollback={() => rollback.mutate(release.id)}
              />
            ))}
          </Stack>
        );
      }}
    </Loaded>
  );
}

function ReleaseCard(props: {
  release: Schemas['Release'];
  isNewest: boolean;
  isBusy: boolean;
  onRollback: () => void;
}) {
  const { release, isNewest } = props;
  return (
    <Paper withBorder p="md">
      <Group justify="space-between">
        <Group gap="xs">
          <Text fw={600}>Version {release.version}</Text>
          {isNewest && <Badge tt="none">newest</Badge>}
          <Text size="sm" c="dimmed">
            {formatDate(release.createdAt)} · {release.workerCount} {release.workerCount === 1 ? 'worker' : 'workers'}
          </Text>
        </Group>
        {!isNewest && (
          <Button size="xs" variant="default" disabled={props.isBusy} onClick={props.onRollback}>
            Roll back to this
          </Button>
        )}
      </Group>
      {release.diff.length === 0 ? (
        <Text size="sm" c="dimmed" mt={4}>
          {release.version === 1 ? 'The first release.' : 'Nothing changed.'}
        </Text>
      ) : (
        <Stack gap={4} mt="xs">
          {release.diff.map(({ field, old, new: now }) => (
            <Text key={field} size="sm">
              <Code>{field}</Code> {show(old)} → {show(now)}
            </Text>
          ))}
        </Stack>
      )}
    </Paper>
  );
}

function show(value: unknown): string {
  if (value === null || value === undefined) return 'nothing';
  return typeof value === 'string' ? value : JSON.stringify(value);
}
