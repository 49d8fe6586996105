import { Alert, Button, Code, CopyButton, Group, Modal, Stack, Text, Title } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { ApiError } from '../../api/api-error.ts';
import { api, unwrap } from '../../api/client.ts';
import { Name } from '../../ui/text/record-name.tsx';
import { RelativeTime } from '../../ui/text/relative-time-view.tsx';
import type { User } from './user-values.ts';

/** Invites a user to set a password, also instead of a forgotten one, and shows the link once. */
export function Invitation({ user: { userId, name, suspension } }: { user: User }) {
  const [url, setUrl] = useState<string | null>(null);
  const queries = useQueryClient();
  const queryKey = ['users', userId, 'invitation'];
  const params = { path: { id: userId } };
  const { data: invitation } = useQuery({
    queryKey,
    retry: false,
    queryFn: () =>
      unwrap(api.GET('/v2/account/users/{id}/invitation', { params })).catch((error: unknown) => {
        if (error instanceof ApiError && error.status === 404) return null;
        throw error;
      }),
  });
  const onSuccess = () => queries.invalidateQueries({ queryKey });
  const invite = useMutation({
    mutationFn: async () =>
      setUrl((await unwrap(api.POST('/v2/account/users/{id}/invitation', { params, body: {} }))).url),
    onSuccess,
  });
  const revoke = useMutation({
    mutationFn: () => unwrap(api.DELETE('/v2/account/users/{id}/invitation', { params })),
    onSuccess,
  });
  return (
    <Stack gap="sm" component="section" aria-labelledby="invitation">
      <Group justify="space-between">
        <Title order={2} size="h4" id="invitation">
          Password
        </Title>
        <Group gap="xs">
          {invitation && (
            <Button variant="default" size="compact-sm" loading={revoke.isPending} onClick={() => revoke.mutate()}>
              Revoke the invitation
            </Button>
          )}
          {suspension === null && (
            <Button variant="default" size="compact-sm" loading={invite.isPending} onClick={() => invite.mutate()}>
              Invite
            </Button>
          )}
        </Group>
      </Group>
      <Text c="dimmed" size="sm">
        {invitation ? (
          <>
            Invited <RelativeTime at={invitation.createdAt} />. The link can be used once, and expires{' '}
            <RelativeTime at={invitation.expiresAt} />.
          </>
        ) : (
          'An invitation is a link with which they set a password and sign in, also if they forgot the one before.'
        )}
      </Text>
      <Modal opened={url !== null} onClose={() => setUrl(null)} title="Invitation" centered>
        <Stack>
          <Alert color="yellow">
            Copy the link now, and send it to <Name>{name}</Name> alone: whoever opens it first sets the password. You
            won't be able to view it again.
          </Alert>
          <Code block style={{ overflowWrap: 'anywhere', whiteSpace: 'pre-wrap' }}>
            {url}
          </Code>
          <CopyButton value={url ?? ''}>
            {({ copied, copy }) => <Button onClick={copy}>{copied ? 'Copied' : 'Copy'}</Button>}
          </CopyButton>
        </Stack>
      </Modal>
    </Stack>
  );
}
