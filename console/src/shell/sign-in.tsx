import { Alert, Anchor, Button, Center, Checkbox, Code, Paper, PasswordInput, Stack, Text, Title } from '@mantine/core';
import { type FormEvent, useState } from 'react';
import { readApiError } from '../api/api-error.ts';
import { BASE_URL } from '../api/client.ts';
import { signIn, useSession } from '../api/session.ts';

/** The key is tried before it is taken, so that a wrong one is told here and not on the first page. */
export function SignIn() {
  const { endedBecause } = useSession();
  const [key, setKey] = useState('');
  const [isKept, setKept] = useState(true);
  const [refusal, setRefusal] = useState<string | null>(null);
  const [isBusy, setBusy] = useState(false);

  async function submit(event: FormEvent) {
    event.preventDefault();
    setBusy(true);
    setRefusal(null);
    try {
      const response = await fetch(`${BASE_URL}/v2/account`, { headers: { authorization: `Bearer ${key.trim()}` } });
      // A key without the account area is a key all the same.
      if (response.ok || response.status === 403) return signIn(key.trim(), isKept);
      setRefusal((await readApiError(response)).message);
    } catch {
      setRefusal('The server cannot be reached.');
    } finally {
      setBusy(false);
    }
  }

  return (
    <Center component="main" mih="100vh" p="md">
      <Paper component="form" withBorder p="xl" w="100%" maw={420} onSubmit={submit}>
        <Stack>
          <Title order={1} size="h2">
            Podyard
          </Title>
          <Text c="dimmed" size="sm">
            Sign in with an API key. The first one was shown when the server started; more are made with{' '}
            <Code>podyard keys create</Code>.
          </Text>
          {(refusal ?? endedBecause) && (
            <Alert color="red" role="alert">
              {refusal ?? endedBecause}
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
            checked={isKept}
            onChange={(event) => setKept(event.currentTarget.checked)}
          />
          <Button type="submit" loading={isBusy} disabled={key.trim() === ''}>
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
