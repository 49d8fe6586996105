import { Alert, Anchor, Button, Center, Code, Divider, Paper, PasswordInput, Stack, Text, Title } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { messageOf } from '../api/api-error.ts';
import { BASE_URL } from '../api/client.ts';
import { useSession } from '../api/session.ts';
import { providerUrl, readProviders, type SignInProvider, signInWithKey } from '../api/sign-in-calls.ts';
import { Logo } from '../ui/logo.tsx';
import { visibleText } from '../ui/text/visible-text.ts';

/** Signs in with a provider or an API key, and leaves the address as it is: the page asked for is shown next. */
export function SignIn() {
  const { endedBecause } = useSession();
  const [key, setKey] = useState('');
  const providers = useQuery({ queryKey: ['sign-in-providers'], queryFn: readProviders }).data ?? [];
  const byKey = useMutation({ meta: { isShownInPlace: true }, mutationFn: () => signInWithKey(key.trim()) });
  const message = byKey.error ? messageOf(byKey.error) : endedBecause;

  function submit(event: FormEvent) {
    event.preventDefault();
    byKey.mutate();
  }

  return (
    <Center component="main" mih="100vh" p="md">
      <Paper component="form" withBorder p="xl" w="100%" maw={420} onSubmit={submit}>
        <Stack>
          <Logo size={34} />
          <Title order={1} size="h2">
            Sign in to Podyard
          </Title>
          {message && (
            <Alert color="red" role="alert">
              {message}
            </Alert>
          )}
          <Providers providers={providers} />
          <Text c="dimmed" size="sm">
            Use the API key that the server printed when it first started, or create one with{' '}
            <Code style={{ whiteSpace: 'nowrap' }}>podyard keys create</Code>.
          </Text>
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
          <Button
            type="submit"
            variant={providers.length > 0 ? 'default' : 'filled'}
            loading={byKey.isPending}
            disabled={key.trim() === ''}
          >
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

function Providers({ providers }: { providers: SignInProvider[] }) {
  if (providers.length === 0) return null;
  return (
    <>
      {providers.map((provider) => (
        <Button key={provider.name} component="a" href={providerUrl(provider)}>
          Sign in with {visibleText(provider.title)}
        </Button>
      ))}
      <Divider label="or with an API key" />
    </>
  );
}
