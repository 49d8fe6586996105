import { Button, PasswordInput, Stack, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { canUsePasskeys, signInWithPasskey, signInWithPassword } from '../api/local-account.ts';
import { ErrorText } from '../ui/error-alert.tsx';

/** Signs in with a password or a passkey: shown once the server has such a user. */
export function LocalSignIn({ hasPasskeys }: { hasPasskeys: boolean }) {
  const [login, setLogin] = useState('');
  const [password, setPassword] = useState('');
  const meta = { isShownInPlace: true };
  const byPassword = useMutation({ meta, mutationFn: () => signInWithPassword(login, password) });
  const byPasskey = useMutation({ meta, mutationFn: signInWithPasskey });
  const error = byPassword.error ?? byPasskey.error;

  function submit(event: FormEvent) {
    event.preventDefault();
    byPasskey.reset();
    byPassword.mutate();
  }

  return (
    <Stack component="form" onSubmit={submit}>
      {error && <ErrorText error={error} />}
      <TextInput
        label="Email or name"
        value={login}
        onChange={(event) => setLogin(event.currentTarget.value)}
        autoComplete="username"
        autoFocus
        required
        withAsterisk={false}
      />
      <PasswordInput
        label="Password"
        value={password}
        onChange={(event) => setPassword(event.currentTarget.value)}
        autoComplete="current-password"
        required
        withAsterisk={false}
      />
      <Button type="submit" loading={byPassword.isPending} disabled={login.trim() === '' || password === ''}>
        Sign in
      </Button>
      {hasPasskeys && canUsePasskeys() && (
        <Button
          variant="default"
          loading={byPasskey.isPending}
          onClick={() => {
            byPassword.reset();
            byPasskey.mutate();
          }}
        >
          Sign in with a passkey
        </Button>
      )}
    </Stack>
  );
}
