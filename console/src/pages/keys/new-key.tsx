import { Alert, Button, Code, CopyButton, Modal, Select, Stack, TextInput } from '@mantine/core';
import type { UseFormReturnType } from '@mantine/form';
import type { Schemas } from '../../api/client.ts';
import { FormButton } from '../../ui/forms/form-button.tsx';
import { LIFETIMES, NEW_KEY, newKeyBody, REVISIONS } from './key-values.ts';
import { ScopePicker } from './scope-picker.tsx';

interface NewKeyProps {
  queryKey: string;
  /** The key is the reader's own; else of another user, in a section of their page. */
  isOwn: boolean;
  create: (body: Schemas['CreateApiKeyRequest']) => Promise<{ secret: string }>;
  onCreated: (secret: string) => void;
}

/** Makes a key, for oneself or for another user. */
export function NewKey({ queryKey, isOwn, create, onCreated }: NewKeyProps) {
  return (
    <FormButton
      label="New key"
      title="New API key"
      isInRow={!isOwn}
      queryKey={queryKey}
      initial={NEW_KEY}
      onSubmit={async (values) => onCreated((await create(newKeyBody(values, Date.now()))).secret)}
    >
      {(form) => (
        <>
          <TextInput label="Name" required data-autofocus {...form.getInputProps('name')} />
          <Scopes form={form} isOwn={isOwn} />
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

function Scopes({ form, isOwn }: { form: UseFormReturnType<typeof NEW_KEY>; isOwn: boolean }) {
  const { value, onChange, error } = form.getInputProps('scopes');
  return <ScopePicker value={value} onChange={onChange} error={error} isOwn={isOwn} />;
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
