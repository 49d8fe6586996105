import { Badge, Button, Code, Group, Paper, Progress, Stack, Text } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import { api, type Schemas, unwrap } from '../../api/client.ts';
import { formatCount, formatDate } from '../../ui/format.ts';
import { notifySuccess } from '../../ui/notify.ts';
import { Loaded } from '../../ui/page.tsx';
import type { EndpointTabProps } from './endpoint-tab-props.ts';
import { diffValue, rolloutText } from './release-text.ts';

type Release = Schemas['Release'];

/** The rollout of the latest release, and all releases with what they changed. */
export function Releases({ endpoint, snapshot }: EndpointTabProps) {
  const { id } = endpoint;
  const query = useReleases(id, snapshot?.endpointVersion);
  const rollback = useRollback(id);
  return (
    <Loaded query={query}>
      {({ releases, rollout, endpointVersion }) => (
        <Stack>
          <RolloutPanel endpointId={id} rollout={snapshot?.rollout ?? rollout} version={endpointVersion} />
          {releases.map((release) => (
            <ReleaseCard
              key={release.id}
              release={release}
              isLatest={release.version === endpointVersion}
              isBusy={rollback.isPending}
              onRollback={() => rollback.mutate(release)}
            />
          ))}
        </Stack>
      )}
    </Loaded>
  );
}

/** Reads the releases, again whenever the live version changes. */
function useReleases(id: string, version: number | undefined) {
  const queries = useQueryClient();
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new version makes the list stale
  useEffect(() => void queries.invalidateQueries({ queryKey: ['releases', id] }), [version, id, queries]);
  return useQuery({
    queryKey: ['releases', id],
    queryFn: () => unwrap(api.GET('/v2/serverless/{id}/releases', { params: { path: { id } } })),
  });
}

function useRollback(id: string) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: ({ id: releaseId }: Release) =>
      unwrap(api.POST('/v2/serverless/{id}/releases/{releaseId}/rollback', { params: { path: { id, releaseId } } })),
    onSuccess: (updated, { version }) => {
      queries.setQueryData(['endpoint', id], updated);
      void queries.invalidateQueries({ queryKey: ['releases', id] });
      notifySuccess(`Created a new release with the settings of version ${version}.`);
    },
  });
}

function RolloutPanel(props: { endpointId: string; rollout: Schemas['Rollout']; version: number }) {
  const { endpointId: id, rollout, version } = props;
  const queries = useQueryClient();
  const change = useMutation({
    mutationFn: (action: 'pause' | 'resume') =>
      unwrap(api.POST('/v2/serverless/{id}/rollout', { params: { path: { id } }, body: { action } })),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['releases', id] }),
  });
  return (
    <Paper withBorder p="md">
      <Group justify="space-between" mb="xs">
        <Text size="sm">{rolloutText(rollout, version)}</Text>
        <Button
          size="xs"
          variant="default"
          loading={change.isPending}
          onClick={() => change.mutate(rollout.paused ? 'resume' : 'pause')}
        >
          {rollout.paused ? 'Resume rollout' : 'Pause rollout'}
        </Button>
      </Group>
      <Progress value={rollout.percentOnLatest} aria-label="Rollout" />
    </Paper>
  );
}

function ReleaseCard(props: { release: Release; isLatest: boolean; isBusy: boolean; onRollback: () => void }) {
  const { release, isLatest } = props;
  return (
    <Paper withBorder p="md">
      <Group justify="space-between">
        <Group gap="xs">
          <Text fw={600}>Version {release.version}</Text>
          {isLatest && <Badge tt="none">Latest</Badge>}
          <Text size="sm" c="dimmed">
            {formatDate(release.createdAt)} · {formatCount(release.workerCount, 'worker')}
          </Text>
        </Group>
        {!isLatest && (
          <Button size="xs" variant="default" disabled={props.isBusy} onClick={props.onRollback}>
            Roll back
          </Button>
        )}
      </Group>
      <ReleaseDiff release={release} />
    </Paper>
  );
}

function ReleaseDiff({ release: { version, diff } }: { release: Release }) {
  if (diff.length === 0) {
    return (
      <Text size="sm" c="dimmed" mt={4}>
        {version === 1 ? 'Initial release' : 'No changes'}
      </Text>
    );
  }
  return (
    <Stack gap={4} mt="xs">
      {diff.map(({ field, old, new: now }) => (
        <Text key={field} size="sm" style={{ overflowWrap: 'anywhere' }}>
          <Code>{field}</Code> {diffValue(old)} → {diffValue(now)}
        </Text>
      ))}
    </Stack>
  );
}
