import { Alert, Anchor, Button, Code, Divider, PasswordInput, Stack, Text } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { messageOf } from '../api/api-error.ts';
import { BASE_URL } from '../api/client.ts';
import { useSession } from '../api/session.ts';
import {
  providerUrl,
  readSignInWays,
  type SignInProvider,
  signInByProxy,
  signInWithKey,
} from '../api/sign-in-calls.ts';
import { CardPage } from '../ui/card-page.tsx';
import { visibleText } from '../ui/text/visible-text.ts';
import { LocalSignIn } from './local-sign-in.tsx';

/** Signs in with a provider, a password, a passkey or an API key, and leaves the address as it is: the page asked for is shown next. */
export function SignIn() {
  const { endedBecause } = useSession();
  const [key, setKey] = useState('');
  const { data: ways, failureCount } = useQuery({ queryKey: ['sign-in-ways'], queryFn: readSignInWays });
  /** Before that nothing is shown: the form for a key would move while the user types. */
  const isKnown = ways !== undefined || failureCount > 0;
  const { providers = [], hasPasswords = false, hasPasskeys = false, proxy } = ways ?? {};
  const others = providers.length + (proxy ? 1 : 0);
  const isKeyLast = others > 0 || hasPasswords;
  const byProxy = useMutation({ meta: { isShownInPlace: true }, mutationFn: signInByProxy });
  const byKey = useMutation({ meta: { isShownInPlace: true }, mutationFn: () => signInWithKey(key.trim()) });
  const error = byKey.error ?? byProxy.error;
  const message = error ? messageOf(error) : endedBecause;

  function submit(event: FormEvent) {
    event.preventDefault();
    byKey.mutate();
  }

  return (
    <CardPage title="Sign in to Podyard">
      {message && (
        <Alert color="red" role="alert">
          {message}
        </Alert>
      )}
      {isKnown && (
        <>
          {others > 0 && (
            <Stack gap="xs" className="providers">
              {proxy && (
                <Button
                  variant={others > 1 ? 'default' : 'filled'}
                  loading={byProxy.isPending}
                  onClick={() => byProxy.mutate()}
                >
                  Sign in with {visibleText(proxy.title)}
                </Button>
              )}
              <Providers providers={providers} variant={others > 1 ? 'default' : 'filled'} />
            </Stack>
          )}
          {others > 0 && hasPasswords && <Divider label="or with a password" />}
          {hasPasswords && <LocalSignIn hasPasskeys={hasPasskeys} />}
          {isKeyLast && <Divider label="or with an API key" />}
          <Stack component="form" onSubmit={submit}>
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
              autoFocus={!hasPasswords}
              required
              withAsterisk={false}
            />
            <Button
              type="submit"
              variant={isKeyLast ? 'default' : 'filled'}
              loading={byKey.isPending}
              disabled={key.trim() === ''}
            >
              {hasPasswords ? 'Sign in with the key' : 'Sign in'}
            </Button>
          </Stack>
        </>
      )}
      <Anchor href={`${BASE_URL}/docs/`} size="sm">
        Documentation
      </Anchor>
    </CardPage>
  );
}

function Providers({ providers, variant }: { providers: SignInProvider[]; variant: string }) {
  return providers.map((provider) => (
    <Button key={provider.name} component="a" href={providerUrl(provider)} variant={variant}>
      Sign in with {visibleText(provider.title)}
    </Button>
  ));
}
