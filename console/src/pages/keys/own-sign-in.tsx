import { Button, Group, PasswordInput, Stack, Text, TextInput, Title } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import {
  canUsePasskeys,
  changePassword,
  type OwnPasskey,
  readLocalAccount,
  removePasskey,
  renamePasskey,
} from '../../api/local-account.ts';
import { sessionHeaders } from '../../api/session.ts';
import { FormButton } from '../../ui/forms/form-button.tsx';
import { Hint } from '../../ui/hint.tsx';
import { type Column, RecordList } from '../../ui/tables/record-list.tsx';
import { Truncated } from '../../ui/text/record-name.tsx';
import { RelativeTime } from '../../ui/text/relative-time-view.tsx';
import { visibleText } from '../../ui/text/visible-text.ts';
import { AddPasskey } from './add-passkey.tsx';
import { CurrentPassword } from './current-password.tsx';

const QUERY_KEY = ['local-account'];

/** The reader's password and passkeys. Nothing for a user who was never invited. */
export function OwnSignIn() {
  const { data } = useQuery({
    queryKey: QUERY_KEY,
    queryFn: () => readLocalAccount(sessionHeaders()),
    retry: false, // 404 where passwords are switched off
  });
  if (!data?.hasPassword) return null;
  const { isProven, passkeys } = data;
  return (
    <Stack gap="sm" mt="lg" component="section" aria-labelledby="own-sign-in">
      <Group justify="space-between">
        <Title order={2} size="h4" id="own-sign-in">
          Password and passkeys
        </Title>
        <Group gap="xs">
          <ChangePassword isProven={isProven} />
          {canUsePasskeys() && <AddPasskey isProven={isProven} />}
        </Group>
      </Group>
      {passkeys.length === 0 ? (
        <Text c="dimmed">You have no passkeys and sign in with your password.</Text>
      ) : (
        <RecordList
          label="Passkeys"
          items={passkeys}
          columns={COLUMNS}
          idOf={({ id }) => id}
          textOf={({ name }) => name}
          rowHeight={48}
          searchName="passkey"
        />
      )}
    </Stack>
  );
}

const COLUMNS: Column<OwnPasskey>[] = [
  { title: 'Passkey', render: ({ name }) => <Truncated text={name} maw={260} /> },
  { title: 'Added', isSecondary: true, render: ({ createdAt }) => <RelativeTime at={createdAt} /> },
  { title: 'Last used', render: ({ lastUsedAt }) => (lastUsedAt ? <RelativeTime at={lastUsedAt} /> : 'Never') },
  { title: 'Actions', width: '190px', render: (passkey) => <PasskeyActions passkey={passkey} /> },
];

function PasskeyActions({ passkey: { id, name } }: { passkey: OwnPasskey }) {
  const queries = useQueryClient();
  const remove = useMutation({
    mutationFn: () => removePasskey(id),
    onSuccess: () => queries.invalidateQueries({ queryKey: QUERY_KEY }),
  });
  return (
    <Group gap="xs" wrap="nowrap">
      <FormButton
        label="Rename"
        title={`Rename ${name}`}
        submitLabel="Save"
        isInRow
        recordId={id}
        queryKey="local-account"
        initial={{ name }}
        onSubmit={(values) => renamePasskey(id, values.name)}
      >
        {(form) => <TextInput label="Name" autoComplete="off" data-autofocus {...form.getInputProps('name')} />}
      </FormButton>
      <Button
        size="compact-sm"
        variant="default"
        className="danger-text"
        loading={remove.isPending}
        onClick={() => remove.mutate()}
        aria-label={visibleText(`Remove ${name}`)}
      >
        Remove
      </Button>
    </Group>
  );
}

function ChangePassword({ isProven }: { isProven: boolean }) {
  return (
    <FormButton
      label="Change password"
      title="Change your password"
      submitLabel="Save"
      isInRow
      queryKey="sessions"
      initial={{ current: '', password: '' }}
      onSubmit={({ current, password }) => changePassword(current, password)}
    >
      {(form) => (
        <>
          <Hint>Your other browsers are signed out. API keys stay valid.</Hint>
          <CurrentPassword isProven={isProven} label="Old password" {...form.getInputProps('current')} />
          <PasswordInput
            label="New password"
            description="At least 12 characters"
            required
            autoComplete="new-password"
            data-autofocus
            {...form.getInputProps('password')}
          />
        </>
      )}
    </FormButton>
  );
}
