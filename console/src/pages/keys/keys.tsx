import { Textarea } from '@mantine/core';
import { IconKey } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, unwrap } from '../../api/client.ts';
import { FormButton } from '../../ui/forms/form-button.tsx';
import { EmptyState, Loaded, Page } from '../../ui/page.tsx';
import { KeyChanges } from './change-key.tsx';
import { KeyList } from './key-list.tsx';
import { linesOf } from './key-values.ts';
import { CreatedKey, NewKey } from './new-key.tsx';
import { OwnSignIn } from './own-sign-in.tsx';
import { Sessions } from './session-list.tsx';

export function KeysPage() {
  const [secret, setSecret] = useState<string | null>(null);
  const query = useQuery({ queryKey: ['keys'], queryFn: () => unwrap(api.GET('/v2/account/api-keys')) });
  const newKey = (
    <NewKey
      isOwn
      queryKey="keys"
      create={(body) => unwrap(api.POST('/v2/account/api-keys', { body }))}
      onCreated={setSecret}
    />
  );
  const actions = (
    <>
      <SshKeys />
      {newKey}
    </>
  );
  return (
    <Page title="API keys" actions={actions}>
      <Loaded query={query}>
        {({ apiKeys }) =>
          apiKeys.length === 0 ? (
            <EmptyState icon={IconKey} title="No API keys yet" action={newKey}>
              API keys authenticate your programs. Give each key only the scopes it needs.
            </EmptyState>
          ) : (
            <KeyList
              keys={apiKeys}
              queryKey="keys"
              changes={(key) => <KeyChanges apiKey={key} onCreated={setSecret} />}
              revoke={(id) => unwrap(api.DELETE('/v2/account/api-keys/{id}', { params: { path: { id } } }))}
            />
          )
        }
      </Loaded>
      <OwnSignIn />
      <Sessions userId={null} />
      <CreatedKey secret={secret} onClose={() => setSecret(null)} />
    </Page>
  );
}

/** Edits the account's SSH keys, once they are read. */
function SshKeys() {
  const { data } = useQuery({ queryKey: ['ssh-keys'], queryFn: () => unwrap(api.GET('/v2/account/ssh-keys')) });
  if (!data) return null;
  return (
    <FormButton
      label="SSH keys"
      title="SSH keys"
      submitLabel="Save"
      isPlain
      queryKey="ssh-keys"
      initial={{ keys: data.keys.join('\n') }}
      onSubmit={(values) => unwrap(api.PUT('/v2/account/ssh-keys', { body: { keys: linesOf(values.keys) } }))}
    >
      {(form) => (
        <Textarea
          label="Public keys"
          description="One per line, as in a .pub file. Pods get them as PUBLIC_KEY when they start."
          autosize
          minRows={4}
          data-autofocus
          styles={{ input: { fontFamily: 'monospace' } }}
          {...form.getInputProps('keys')}
        />
      )}
    </FormButton>
  );
}
