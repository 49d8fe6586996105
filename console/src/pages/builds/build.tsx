import { Alert, Anchor, Code, Grid, Group, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from 'react-router';
import { api, unwrap } from '../../api/client.ts';
import { CopyableText } from '../../ui/copyable.tsx';
import { CopyableId } from '../../ui/copyable-id.tsx';
import { LoadedPage, Page } from '../../ui/page.tsx';
import { Elapsed } from '../../ui/text/elapsed-view.tsx';
import { RelativeTime } from '../../ui/text/relative-time-view.tsx';
import { Status } from '../../ui/text/status.tsx';
import { visibleText } from '../../ui/text/visible-text.ts';
import { BuildActionError, BuildActions, useBuildActions } from './build-actions.tsx';
import { BuildImage } from './build-image.tsx';
import { BuildLog } from './build-log.tsx';
import { BuildRefusal, HindranceAlert, useBuildHindrance } from './build-notes.tsx';
import { BuildSteps } from './build-steps.tsx';
import { asSentence, BUILD_STATUSES, type Build, failureOf, hasEnded, lacksScope, sourceOf } from './build-values.ts';

const PARENT = { to: '/builds', label: 'Builds' };
const BUSY_MS = 1_000;
/** The pause between reads of a build that has ended: an endpoint may take its image, and the image may be removed. */
const QUIET_MS = 10_000;

export function BuildPage() {
  const { id = '' } = useParams();
  const query = useQuery({
    queryKey: ['build', id],
    queryFn: () => unwrap(api.GET('/v2/builds/{id}', { params: { path: { id } } })),
    refetchInterval: ({ state: { data } }) => (data && !hasEnded(data) ? BUSY_MS : QUIET_MS),
  });
  if (query.data === undefined && lacksScope(query.error)) {
    return (
      <Page title="Build" parents={[PARENT]}>
        <BuildRefusal />
      </Page>
    );
  }
  return (
    <LoadedPage query={query} what="Build" parent={PARENT}>
      {(build) => <BuildView build={build} />}
    </LoadedPage>
  );
}

function BuildView({ build }: { build: Build }) {
  const actions = useBuildActions(build);
  const hindrance = useBuildHindrance();
  return (
    <Page
      title={build.name}
      parents={[PARENT]}
      status={
        <div role="status">
          <Status table={BUILD_STATUSES} value={build.status} />
        </div>
      }
      description={<BuildFacts build={build} />}
      actions={<BuildActions build={build} actions={actions} isHindered={hindrance !== null} />}
    >
      <Stack>
        <BuildActionError actions={actions} />
        {hindrance !== null && <HindranceAlert hindrance={hindrance} />}
        <Outcome build={build} />
        {build.status === 'COMPLETED' && <BuildImage build={build} />}
        <Grid gap="lg">
          <Grid.Col span={{ base: 12, md: 4 }}>
            <BuildSteps build={build} />
          </Grid.Col>
          <Grid.Col span={{ base: 12, md: 8 }}>
            <BuildLog build={build} />
          </Grid.Col>
        </Grid>
      </Stack>
    </Page>
  );
}

function BuildFacts({ build }: { build: Build }) {
  const { id, createdAt, startedAt, endedAt, retryOf } = build;
  return (
    <Group gap="2px 16px">
      <CopyableId id={id} />
      <span>
        Created <RelativeTime at={createdAt} />
      </span>
      {startedAt !== null && (
        <span>
          {endedAt === null ? 'Runs for ' : 'Took '}
          <Elapsed from={startedAt} to={endedAt} />
        </span>
      )}
      <span>Source: {sourceOf(build)}</span>
      {retryOf !== null && (
        <Anchor component={Link} to={`/builds/${retryOf}`} size="sm" underline="always">
          The build before it
        </Anchor>
      )}
    </Group>
  );
}

/** Why a build failed, was cancelled or waits, and what to do next. */
function Outcome({ build }: { build: Build }) {
  const { status, reason } = build;
  if (status === 'FAILED') return <Failure build={build} />;
  if (reason === null || status === 'COMPLETED') return null;
  const rest = status === 'CANCELLED' ? ' Endpoints run what they ran before.' : '';
  return <Text size="sm">{visibleText(asSentence(reason) + rest)}</Text>;
}

/** The line that says most, then the step and its last lines, then what to do. */
function Failure({ build: { reason, source } }: { build: Build }) {
  const { line, sentence, output } = failureOf(reason ?? 'It failed, and nothing says why');
  return (
    <Alert color="red" title={visibleText(line)}>
      <Stack gap="xs">
        {sentence !== null && (
          <Text size="sm" className="anywhere">
            {visibleText(sentence)}
          </Text>
        )}
        {output !== '' && (
          <Code block className="reason">
            {visibleText(output)}
          </Code>
        )}
        {source.type === 'GIT' ? (
          <Text size="sm">Change the code, and push it.</Text>
        ) : (
          <CopyableText label="Change the folder, then:" text="podyard deploy" />
        )}
        <Text size="sm">
          If the cause was elsewhere, such as the network or a secret, build the same folder again. Meanwhile endpoints
          run what they ran before.
        </Text>
      </Stack>
    </Alert>
  );
}
