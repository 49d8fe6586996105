import { Alert, Anchor, Button, Checkbox, Group, Modal, Stack, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { ApiError } from '../../api/api-error.ts';
import { api, BASE_URL, type Schemas, unwrap } from '../../api/client.ts';
import { ErrorAlert } from '../../ui/error-alert.tsx';
import { notifySuccess } from '../../ui/notify.ts';
import { Panel } from '../../ui/panel.tsx';
import { visibleText } from '../../ui/text/visible-text.ts';

type Source = Schemas['GitSource'];

const keyOf = (endpointId: string) => ['endpoint', endpointId, 'git-source'];

/** The repository that an endpoint is built from, and whether its podyard.yaml sets the endpoint. Nothing if there is none. */
export function GitSource({ endpointId: id }: { endpointId: string }) {
  const { data: source } = useQuery({
    queryKey: keyOf(id),
    queryFn: () =>
      unwrap(api.GET('/v2/serverless/{id}/git-source', { params: { path: { id } } })).catch((error) => {
        if (error instanceof ApiError && error.status === 404) return null;
        throw error;
      }),
  });
  const [isOpen, { open, close }] = useDisclosure(false);
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
          <Button variant="default" size="xs" onClick={open}>
            Change…
          </Button>
        </Group>
      </Stack>
      <Modal opened={isOpen} onClose={close} title="Settings from the repository" centered>
        <Choice source={source} onClose={close} />
      </Modal>
    </Panel>
  );
}

/** Mounted with the dialog, so that each opening starts anew. */
function Choice({ source, onClose }: { source: Source; onClose: () => void }) {
  const [applySettings, setApplySettings] = useState(source.applySettings);
  const queries = useQueryClient();
  const { endpointId: id } = source;
  const change = useMutation({
    meta: { isShownInPlace: true },
    mutationFn: () =>
      unwrap(
        api.PUT('/v2/serverless/{id}/git-source', {
          params: { path: { id } },
          body: { ...requestOf(source), applySettings },
        }),
      ),
    onSuccess: (updated) => {
      queries.setQueryData(keyOf(id), updated);
      notifySuccess('Saved. The server looks at the repository now.');
      onClose();
    },
  });
  function submit(event: FormEvent) {
    event.preventDefault();
    change.mutate();
  }
  return (
    <form onSubmit={submit}>
      <Stack>
        <Checkbox
          label="Each commit sets the endpoint as its podyard.yaml says"
          checked={applySettings}
          onChange={(event) => setApplySettings(event.currentTarget.checked)}
          data-autofocus
        />
        <Text size="sm">
          GPUs, workers, variables, secrets, volumes and the schedule then come from the file, together with the image.
          Whoever may push can have any secret and volume of your account in the workers.{' '}
          <Anchor href={`${BASE_URL}/docs/git#settings-in-the-repository`} target="_blank" size="sm" underline="always">
            Settings in the repository
          </Anchor>
        </Text>
        {change.error && <ErrorAlert error={change.error} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button type="submit" loading={change.isPending} disabled={applySettings === source.applySettings}>
            Save
          </Button>
        </Group>
      </Stack>
    </form>
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
