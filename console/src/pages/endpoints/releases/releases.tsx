import { Anchor, Badge, Button, Code, Group, Paper, Stack, Text } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useEffect } from 'react';
import { Link } from 'react-router';
import { api, type Schemas, unwrap } from '../../../api/client.ts';
import { Hint } from '../../../ui/hint.tsx';
import { notifySuccess } from '../../../ui/notify.ts';
import { Loaded } from '../../../ui/page.tsx';
import { formatCount } from '../../../ui/text/format.ts';
import { Name } from '../../../ui/text/record-name.tsx';
import { RelativeTime } from '../../../ui/text/relative-time-view.tsx';
import { useFirst } from '../../../ui/use-first.tsx';
import type { EndpointTabProps } from '../endpoint-tab-props.ts';
import { diffValue, digestText, variableChanges } from './release-text.ts';
import { RolloutPanel } from './rollout-panel.tsx';
import { tryRelease } from './try-release.ts';

type Release = Schemas['Release'];
type Image = Schemas['ReleaseImage'];

/** The rollout of the latest release, and all releases with what they changed. */
export function Releases({ endpoint, snapshot }: EndpointTabProps) {
  const { id } = endpoint;
  const query = useReleases(id, snapshot?.endpointVersion);
  const rollback = useRollback(id);
  return (
    <Loaded query={query}>
      {({ releases, endpointVersion, images }) => (
        <Stack>
          {snapshot && <RolloutPanel endpointId={id} snapshot={snapshot} />}
          <ReleaseCards
            releases={releases}
            card={(release) => (
              <ReleaseCard
                key={release.id}
                release={release}
                image={images.find(({ releaseId }) => releaseId === release.id)}
                isLatest={release.version === endpointVersion}
                isBusy={rollback.isPending}
                onRollback={() => rollback.mutate(release)}
              />
            )}
          />
        </Stack>
      )}
    </Loaded>
  );
}

const RELEASES_FIRST = 20;

function ReleaseCards(props: { releases: readonly Release[]; card: (release: Release) => ReactNode }) {
  const [shown, more] = useFirst(props.releases, RELEASES_FIRST);
  return (
    <>
      {shown.map(props.card)}
      {more}
    </>
  );
}

/** Reads the releases, again whenever the live version changes. */
function useReleases(id: string, version: number | undefined) {
  const queries = useQueryClient();
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new version makes the list stale
  useEffect(() => void queries.invalidateQueries({ queryKey: ['releases', id] }), [version, id, queries]);
  return useQuery({
    queryKey: ['releases', id],
    queryFn: async () => {
      const params = { path: { id } };
      const [releases, { images }] = await Promise.all([
        unwrap(api.GET('/v2/serverless/{id}/releases', { params })),
        unwrap(api.GET('/v2/serverless/{id}/release-images', { params })),
      ]);
      return { ...releases, images };
    },
  });
}

function useRollback(id: string) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: async ({ id: releaseId }: Release) => {
      const path = { id, releaseId };
      const updated = await unwrap(api.POST('/v2/serverless/{id}/releases/{releaseId}/rollback', { params: { path } }));
      await tryRelease(id);
      return updated;
    },
    onSuccess: (updated, { version }) => {
      queries.setQueryData(['endpoint', id], updated);
      void queries.invalidateQueries({ queryKey: ['releases', id] });
      notifySuccess(`A new version has the settings of version ${version}.`);
    },
  });
}

function ReleaseCard(props: {
  release: Release;
  image: Image | undefined;
  isLatest: boolean;
  isBusy: boolean;
  onRollback: () => void;
}) {
  const { release, image, isLatest } = props;
  return (
    <Paper withBorder p="md">
      <Group justify="space-between">
        <Group gap="xs">
          <Text fw={600}>Version {release.version}</Text>
          {isLatest && <Badge tt="none">Latest</Badge>}
          <Hint>
            <RelativeTime at={release.createdAt} /> · {formatCount(release.workerCount, 'worker')}
            {release.buildId !== null && (
              <>
                {' · '}
                <Anchor component={Link} to={`/builds/${release.buildId}`} size="sm" underline="always">
                  Its build
                </Anchor>
              </>
            )}
          </Hint>
        </Group>
        {!isLatest && (
          <Button size="xs" variant="default" disabled={props.isBusy} onClick={props.onRollback}>
            Roll back
          </Button>
        )}
      </Group>
      {image && <ReleaseImage image={image} />}
      <ReleaseDiff release={release} />
    </Paper>
  );
}

/** Shows the image that the workers of a release run, and why they cannot. */
function ReleaseImage({ image: { image, digest, isResolving, problem } }: { image: Image }) {
  return (
    <Stack gap={4} mt={4}>
      <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
        <Name>{image}</Name> <Hint>{digestText(digest, isResolving)}</Hint>
      </Text>
      {problem && (
        <Text size="sm" className="bad">
          {problem}
        </Text>
      )}
    </Stack>
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
          <Code>{field}</Code>{' '}
          {field === 'env' ? (
            <Name>{variableChanges(old, now)}</Name>
          ) : (
            <>
              <Name>{diffValue(old)}</Name> → <Name>{diffValue(now)}</Name>
            </>
          )}
        </Text>
      ))}
    </Stack>
  );
}
