import { Group, NumberInput, Switch, Text, Textarea, TextInput } from '@mantine/core';
import { api, unwrap } from '../../api/client.ts';
import { FormButton } from '../../ui/forms/form-button.tsx';
import { type ApiKey, linesOf } from './key-values.ts';

const DEFAULT_OVERLAP_HOURS = 24;

interface KeyChangesProps {
  apiKey: ApiKey;
  onCreated: (secret: string) => void;
  /** Whose key it is, for admins; absent: the reader's own. */
  userId?: string;
}

/** Changes and replaces a key. */
export function KeyChanges({ apiKey, onCreated, userId }: KeyChangesProps) {
  return (
    <Group gap={4} wrap="nowrap">
      <EditKey apiKey={apiKey} userId={userId} />
      <RotateKey apiKey={apiKey} onCreated={onCreated} userId={userId} />
    </Group>
  );
}

type Whose = Pick<KeyChangesProps, 'apiKey'> & { userId: string | undefined };

function EditKey({ apiKey: { id, name, disabled, allowedAddresses }, userId }: Whose) {
  return (
    <FormButton
      label="Edit"
      title={`Edit ${name}`}
      submitLabel="Save"
      isInRow
      recordId={id}
      queryKey={userId === undefined ? 'keys' : 'users'}
      initial={{ name, isEnabled: !disabled, addresses: allowedAddresses.join('\n') }}
      onSubmit={({ name, isEnabled, addresses }) => {
        const body = { name, disabled: !isEnabled, allowedAddresses: linesOf(addresses) };
        if (userId === undefined)
          return unwrap(api.PATCH('/v2/account/api-keys/{id}', { params: { path: { id } }, body }));
        const params = { path: { id: userId, keyId: id } };
        return unwrap(api.PATCH('/v2/account/users/{id}/api-keys/{keyId}', { params, body }));
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

function RotateKey({ apiKey: { id, name }, onCreated, userId }: Whose & Pick<KeyChangesProps, 'onCreated'>) {
  return (
    <FormButton
      label="Rotate"
      title={`Rotate ${name}`}
      submitLabel="Create the new key"
      isInRow
      recordId={id}
      queryKey={userId === undefined ? 'keys' : 'users'}
      initial={{ overlapHours: DEFAULT_OVERLAP_HOURS }}
      onSubmit={async ({ overlapHours }) => {
        const body = { overlapHours };
        const made =
          userId === undefined
            ? await unwrap(api.POST('/v2/account/api-keys/{id}/rotate', { params: { path: { id } }, body }))
            : await unwrap(
                api.POST('/v2/account/users/{id}/api-keys/{keyId}/rotate', {
                  params: { path: { id: userId, keyId: id } },
                  body,
                }),
              );
        onCreated(made.secret);
      }}
    >
      {(form) => (
        <>
          <Text size="sm">
            A new key may do the same. This one stays valid meanwhile, so that you can change your programs.
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
