import { Group, NumberInput, Switch, Text, Textarea, TextInput } from '@mantine/core';
import { api, unwrap } from '../../api/client.ts';
import { FormButton } from '../../ui/forms/form-button.tsx';
import { type ApiKey, linesOf } from './key-values.ts';

const DEFAULT_OVERLAP_HOURS = 24;

/** Changes and replaces one of the reader's own keys. */
export function KeyChanges({ apiKey, onCreated }: { apiKey: ApiKey; onCreated: (secret: string) => void }) {
  return (
    <Group gap={4} wrap="nowrap">
      <EditKey apiKey={apiKey} />
      <RotateKey apiKey={apiKey} onCreated={onCreated} />
    </Group>
  );
}

function EditKey({ apiKey: { id, name, disabled, allowedAddresses } }: { apiKey: ApiKey }) {
  return (
    <FormButton
      label="Edit"
      title={`Edit ${name}`}
      submitLabel="Save"
      isInRow
      queryKey="keys"
      initial={{ name, isEnabled: !disabled, addresses: allowedAddresses.join('\n') }}
      onSubmit={({ name, isEnabled, addresses }) => {
        const body = { name, disabled: !isEnabled, allowedAddresses: linesOf(addresses) };
        return unwrap(api.PATCH('/v2/account/api-keys/{id}', { params: { path: { id } }, body }));
      }}
    >
      {(form) => (
        <>
          <TextInput label="Name" required data-autofocus {...form.getInputProps('name')} />
          <Switch
            label="Enabled"
            description="A disabled key is refused until you enable it again"
            {...form.getInputProps('isEnabled', { type: 'checkbox' })}
          />
          <Textarea
            label="Allowed addresses"
            description="One address or network per line, such as 203.0.113.0/24. Empty: everywhere."
            autosize
            minRows={2}
            {...form.getInputProps('addresses')}
          />
        </>
      )}
    </FormButton>
  );
}

function RotateKey({ apiKey: { id, name }, onCreated }: { apiKey: ApiKey; onCreated: (secret: string) => void }) {
  return (
    <FormButton
      label="Rotate"
      title={`Rotate ${name}`}
      submitLabel="Create the new key"
      isInRow
      queryKey="keys"
      initial={{ overlapHours: DEFAULT_OVERLAP_HOURS }}
      onSubmit={async ({ overlapHours }) => {
        const call = api.POST('/v2/account/api-keys/{id}/rotate', { params: { path: { id } }, body: { overlapHours } });
        onCreated((await unwrap(call)).secret);
      }}
    >
      {(form) => (
        <>
          <Text size="sm">
            A new key may do the same. This one goes on meanwhile, so that you can change your programs.
          </Text>
          <NumberInput
            label="Hours until the old key ends"
            min={0}
            max={8_760}
            allowDecimal={false}
            {...form.getInputProps('overlapHours')}
          />
        </>
      )}
    </FormButton>
  );
}
