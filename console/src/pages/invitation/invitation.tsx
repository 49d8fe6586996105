import { Button, PasswordInput, Stack, Text } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { useNavigate, useParams } from 'react-router';
import { acceptInvitation, canUsePasskeys, type Invited, readInvitation } from '../../api/local-account.ts';
import { CardPage } from '../../ui/card-page.tsx';
import { ErrorAlert, ErrorText } from '../../ui/error-alert.tsx';
import { Name } from '../../ui/text/record-name.tsx';
import { AddPasskey } from '../keys/add-passkey.tsx';

/** The page of an invitation's link: the invited user sets their password, and may add a passkey. */
export function InvitationPage() {
  const { secret = '' } = useParams();
  const navigate = useNavigate();
  const [isDone, setDone] = useState(false);
  const query = useQuery({
    queryKey: ['invitation', secret],
    queryFn: () => readInvitation(secret),
    enabled: !isDone,
    retry: false,
    staleTime: Number.POSITIVE_INFINITY,
  });
  if (isDone) return <Welcome onLeave={() => navigate('/', { replace: true })} />;
  return (
    <CardPage title="Welcome to Podyard">
      {query.error && <ErrorAlert error={query.error} />}
      {query.error && (
        <Button variant="default" onClick={() => navigate('/', { replace: true })}>
          Sign in
        </Button>
      )}
      {query.data && <SetPassword secret={secret} invited={query.data} onDone={() => setDone(true)} />}
    </CardPage>
  );
}

function SetPassword({ secret, invited, onDone }: { secret: string; invited: Invited; onDone: () => void }) {
  const [password, setPassword] = useState('');
  const queries = useQueryClient();
  const accept = useMutation({
    meta: { isShownInPlace: true },
    mutationFn: () => acceptInvitation(secret, password),
    onSuccess: () => {
      queries.clear(); // of the user signed in before
      history.replaceState(history.state, '', '#/'); // the link is used, and need not stay in the history
      onDone();
    },
  });

  function submit(event: FormEvent) {
    event.preventDefault();
    accept.mutate();
  }

  return (
    <Stack component="form" onSubmit={submit}>
      <Text>
        Set a password for <Name>{invited.name}</Name>. From then on you sign in with{' '}
        {invited.email === null ? 'that name' : <Name>{invited.email}</Name>} and the password.
      </Text>
      <input type="hidden" name="username" autoComplete="username" value={invited.email ?? invited.name} />
      <PasswordInput
        label="New password"
        description="At least 12 characters. Several words that have nothing to do with each other are good."
        value={password}
        onChange={(event) => setPassword(event.currentTarget.value)}
        autoComplete="new-password"
        autoFocus
        required
        withAsterisk={false}
      />
      {accept.error && <ErrorText error={accept.error} />}
      <Button type="submit" loading={accept.isPending} disabled={password === ''}>
        Set the password
      </Button>
    </Stack>
  );
}

function Welcome({ onLeave }: { onLeave: () => void }) {
  return (
    <CardPage title="You are signed in">
      {canUsePasskeys() && (
        <>
          <Text>
            With a passkey you sign in with your fingerprint, face or PIN instead of the password. You can also add one
            later, on the page of your API keys.
          </Text>
          <AddPasskey isProven />
        </>
      )}
      <Button onClick={onLeave}>Open the console</Button>
    </CardPage>
  );
}
