import { Alert, Anchor, Button, Center, Checkbox, Code, Paper, PasswordInput, Stack, Text, Title } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { messageOf } from '../api/api-error.ts';
import { BASE_URL } from '../api/client.ts';
import { verifyKey } from '../api/connection.ts';
import { signIn, useSession } from '../api/session.ts';
import { Logo } from '../ui/logo.tsx';

/** Verifies the key before it signs in, so that a wrong one is reported here. */
export function SignIn() {
  const { endedBecause } = useSession();
  const [key, setKey] = useState('');
  const [isRemembered, setRemembered] = useState(true);
  const verification = useMutation({
    meta: { isShownInPlace: true },
    mutationFn: () => verifyKey(fetch, BASE_URL, key.trim()),
    onSuccess: () => signIn(key.trim(), isRemembered),
  });
  const message = verification.error ? messageOf(verification.error) : endedBecause;

  function submit(event: FormEvent) {
    event.preventDefault();
    verification.mutate();
  }

  return (
    <Center component="main" mih="100vh" p="md">
      <Paper component="form" withBorder p="xl" w="100%" maw={420} onSubmit={submit}>
        <Stack>
          <Introduction />
          {message && (
            <Alert color="red" role="alert">
              {message}
            </Alert>
          )}
          <PasswordInput
            label="API key"
            placeholder="pyk_…"
            value={key}
            onChange={(event) => setKey(event.currentTarget.value)}
            autoComplete="off"
            autoFocus
            required
            withAsterisk={false}
          />
          <Checkbox
            label="Stay signed in until this tab is closed"
            checked={isRemembered}
            onChange={(event) => setRemembered(event.currentTarget.checked)}
          />
          <Button type="submit" loading={verification.isPending} disabled={key.trim() === ''}>
            Sign in
          </Button>
          <Anchor href={`${BASE_URL}/docs/`} size="sm">
            Documentation
          </Anchor>
        </Stack>
      </Paper>
    </Center>
  );
}

function Introduction() {
  return (
    <>
      <Logo size={34} />
      <Title order={1} size="h2">
        Sign in to Podyard
      </Title>
      <Text c="dimmed" size="sm">
        Use the API key that the server printed when it first started, or create one with{' '}
        <Code style={{ whiteSpace: 'nowrap' }}>podyard keys create</Code>.
      </Text>
    </>
  );
}
