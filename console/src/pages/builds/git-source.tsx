import { Alert, Anchor, Checkbox, Group, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { ApiError } from '../../api/api-error.ts';
import { api, BASE_URL, type Schemas, unwrap } from '../../api/client.ts';
import { FormButton } from '../../ui/forms/form-button.tsx';
import { notifySuccess } from '../../ui/notify.ts';
import { Panel } from '../../ui/panel.tsx';
import { visibleText } from '../../ui/text/visible-text.ts';

type Source = Schemas['GitSource'];

/** A repository is connected in a terminal, and a reader may wait here for that, or for the result of a check. */
const BUSY_MS = 5_000;
const QUIET_MS = 60_000;

/** The repository that an endpoint is built from, and whether its podyard.yaml sets the endpoint. Nothing if there is none. */
export function GitSource({ endpointId: id }: { endpointId: string }) {
  const { data: source } = useQuery({
    queryKey: ['endpoint', id, 'git-source'],
    staleTime: freshFor,
    refetchInterval: (query) => (query.state.error ? false : freshFor(query)),
    queryFn: () =>
      unwrap(api.GET('/v2/serverless/{id}/git-source', { params: { path: { id } } })).catch((error) => {
        if (error instanceof ApiError && error.status === 404) return null;
        throw error;
      }),
  });
  if (!source) return null;
  const { url, branch, tags, folder, applySettings, lastError } = source;
  const ref = branch === null ? `the highest tag of ${tags}` : `branch ${branch}`;
  return (
    <Panel title="Repository" padding="md">
      <Stack gap="xs">
        <Text size="sm" className="anywhere">
          {visibleText(`${url}, ${ref}${folder === '' ? '' : `, folder ${folder}`}`)}
        </Text>
        {lastError !== null && (
          <Alert color="orange">
            <Text size="sm" className="anywhere">
              {visibleText(lastError)}
            </Text>
          </Alert>
        )}
        <Group justify="space-between">
          <Text size="sm">
            {applySettings
              ? 'Each commit sets the image, and what its podyard.yaml says.'
              : 'Each commit sets the image alone.'}
          </Text>
          <ChangeButton source={source} />
        </Group>
      </Stack>
    </Panel>
  );
}

function freshFor({ state: { data } }: { state: { data?: Source | null | undefined } }): number {
  return data && !data.isLooking ? QUIET_MS : BUSY_MS;
}

function ChangeButton({ source }: { source: Source }) {
  const { endpointId: id } = source;
  return (
    <FormButton
      label="Change…"
      title="Settings from the repository"
      isInRow
      initial={{ applySettings: source.applySettings }}
      queryKey="endpoint"
      recordId={id}
      submitLabel="Save"
      needsChange
      onSubmit={async ({ applySettings }) => {
        const body = { ...requestOf(source), applySettings };
        await unwrap(api.PUT('/v2/serverless/{id}/git-source', { params: { path: { id } }, body }));
        notifySuccess('Saved. The server looks at the repository now.');
      }}
    >
      {(form) => (
        <>
          <Checkbox
            label="Each commit sets the endpoint as its podyard.yaml says"
            {...form.getInputProps('applySettings', { type: 'checkbox' })}
            data-autofocus
          />
          <Text size="sm">
            GPUs, workers, variables, secrets, volumes and the schedule then come from the file, together with the
            image. Whoever may push can have any secret and volume of your account in the workers.{' '}
            <Anchor
              href={`${BASE_URL}/docs/git#settings-in-the-repository`}
              target="_blank"
              size="sm"
              underline="always"
            >
              Settings in the repository
            </Anchor>
          </Text>
        </>
      )}
    </FormButton>
  );
}

/** Returns the request that connects the endpoint as it is connected now. */
function requestOf(source: Source): Schemas['ReplaceGitSourceRequest'] {
  const { url, branch, tags, folder, build, auth, pollSeconds, statuses } = source;
  return {
    ...{ url, folder, build, pollSeconds, statuses },
    ...(branch !== null && { branch }),
    ...(tags !== null && { tags }),
    auth: { type: auth.type, ...(auth.secret !== null && { secret: auth.secret }) },
  };
}
