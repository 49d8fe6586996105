import { Alert, Button, Code, CopyButton, Modal, Select, Stack, TagsInput, TextInput } from '@mantine/core';
import type { Schemas } from '../../api/client.ts';
import { FormButton } from '../../ui/form-button.tsx';
import { LIFETIMES, NEW_KEY, newKeyBody, REVISIONS, SUGGESTED_SCOPES } from './key-values.ts';

interface NewKeyProps {
  queryKey: string;
  /** In a section of a page, not at its top. */
  isInRow?: boolean;
  create: (body: Schemas['CreateApiKeyRequest']) => Promise<{ secret: string }>;
  onCreated: (secret: string) => void;
}

/** Makes a key, for oneself or for another user. */
export function NewKey({ queryKey, isInRow = false, create, onCreated }: NewKeyProps) {
  return (
    <FormButton
      label="New key"
      title="New API key"
      isInRow={isInRow}
      queryKey={queryKey}
      initial={NEW_KEY}
      onSubmit={async (values) => onCreated((await create(newKeyBody(values, Date.now()))).secret)}
    >
      {(form) => (
        <>
          <TextInput label="Name" required data-autofocus {...form.getInputProps('name')} />
          <TagsInput
            label="Scopes"
            description="For example all, read-only, pods:write, invoke/<endpoint ID> or serverless/<endpoint ID>:read"
            data={SUGGESTED_SCOPES}
            {...form.getInputProps('scopes')}
          />
          <Select label="Expires" data={LIFETIMES} allowDeselect={false} {...form.getInputProps('days')} />
          <Select
            label="API revision"
            description="What /v2 speaks to programs with this key"
            data={REVISIONS}
            allowDeselect={false}
            {...form.getInputProps('revision')}
          />
        </>
      )}
    </FormButton>
  );
}

/** Shows a new key's secret, which the server returns only once. */
export function CreatedKey({
  secret,
  title = 'API key created',
  onClose,
}: {
  secret: string | null;
  title?: string;
  onClose: () => void;
}) {
  return (
    <Modal opened={secret !== null} onClose={onClose} title={title} centered>
      <Stack>
        <Alert color="yellow">Copy the key now. You won't be able to view it again.</Alert>
        <Code block>{secret}</Code>
        <CopyButton value={secret ?? ''}>
          {({ copied, copy }) => <Button onClick={copy}>{copied ? 'Copied' : 'Copy'}</Button>}
        </CopyButton>
      </Stack>
    </Modal>
  );
}
