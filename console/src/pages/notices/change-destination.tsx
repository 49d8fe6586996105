import {
  Button,
  Checkbox,
  Code,
  CopyButton,
  Group,
  Modal,
  NumberInput,
  Select,
  Stack,
  Switch,
  Text,
  TextInput,
} from '@mantine/core';
import type { UseFormReturnType } from '@mantine/form';
import { api, unwrap } from '../../api/client.ts';
import { FormButton } from '../../ui/forms/form-button.tsx';
import {
  createBody,
  type Destination,
  type DestinationForm,
  destinationForm,
  destinationSummary,
  eventsOf,
  KINDS,
  type Scope,
  updateBody,
} from './notice-values.ts';

/** `onCreated` gets what signs a webhook. */
export function NewDestination({ scope, onCreated }: { scope: Scope; onCreated: (secret: string) => void }) {
  return (
    <FormButton
      label="New destination"
      title={scope === 'ACCOUNT' ? 'New destination' : 'New destination of the installation'}
      queryKey="notices"
      recordId={scope}
      summary={(values) => destinationSummary(scope, values)}
      initial={destinationForm(scope)}
      onSubmit={async (values) => {
        const { signingSecret } = await unwrap(api.POST('/v2/account/notices', { body: createBody(scope, values) }));
        if (signingSecret !== null) onCreated(signingSecret);
      }}
    >
      {(form) => (
        <>
          <TextInput label="Name" required data-autofocus autoComplete="off" {...form.getInputProps('name')} />
          <Select label="Kind" data={KINDS} allowDeselect={false} {...form.getInputProps('kind')} />
          <Fields form={form} scope={scope} />
        </>
      )}
    </FormButton>
  );
}

export function EditDestination({ destination }: { destination: Destination }) {
  const { id, name, scope } = destination;
  return (
    <FormButton
      label="Edit"
      title={`Edit ${name}`}
      submitLabel="Save"
      isInRow
      recordId={id}
      summary={(values) => destinationSummary(scope, values)}
      queryKey="notices"
      initial={destinationForm(scope, destination)}
      onSubmit={(values) =>
        unwrap(api.PATCH('/v2/account/notices/{id}', { params: { path: { id } }, body: updateBody(values) }))
      }
    >
      {(form) => (
        <>
          <TextInput label="Name" required data-autofocus autoComplete="off" {...form.getInputProps('name')} />
          <Switch
            label="On"
            description="When off, nothing is sent to it"
            {...form.getInputProps('isEnabled', { type: 'checkbox' })}
          />
          <Fields form={form} scope={scope} storedHost={destination.kind === 'EMAIL' ? null : destination.address} />
        </>
      )}
    </FormButton>
  );
}

interface FieldsProps {
  form: UseFormReturnType<DestinationForm>;
  scope: Scope;
  /** The host of the URL that is stored; null: none is. */
  storedHost?: string | null;
}

function Fields({ form, scope, storedHost = null }: FieldsProps) {
  return (
    <>
      {form.values.kind === 'EMAIL' ? (
        <TextInput
          label="Email"
          type="email"
          required
          description={scope === 'ACCOUNT' ? 'Your own address, or for a team a member’s.' : undefined}
          {...form.getInputProps('email')}
        />
      ) : (
        <TextInput
          label="URL"
          required={storedHost === null}
          autoComplete="off"
          description={
            storedHost === null
              ? 'Stored encrypted. You won’t be able to view it again.'
              : `Leave empty to keep the one at ${storedHost}.`
          }
          {...form.getInputProps('url')}
        />
      )}
      <Checkbox.Group label="Tell it when" {...form.getInputProps('events')}>
        <Stack gap={6} mt={6}>
          {eventsOf(scope).map(({ value, label }) => (
            <Checkbox key={value} value={value} label={label} />
          ))}
        </Stack>
      </Checkbox.Group>
      <NumberInput
        label="Minutes that an endpoint or a job may wait"
        min={1}
        max={1_440}
        allowDecimal={false}
        {...form.getInputProps('waitMinutes')}
      />
    </>
  );
}

/** Shows what signs a new webhook, once. */
export function SigningSecret({ secret, onClose }: { secret: string | null; onClose: () => void }) {
  return (
    <Modal opened={secret !== null} onClose={onClose} title="Signing secret" size="lg">
      <Stack>
        <Text size="sm">Each request is signed with this. Copy it now: you won’t be able to view it again.</Text>
        <Code block>{secret ?? ''}</Code>
        <Group justify="flex-end">
          <CopyButton value={secret ?? ''}>
            {({ copied, copy }) => (
              <Button variant="default" onClick={copy}>
                {copied ? 'Copied' : 'Copy'}
              </Button>
            )}
          </CopyButton>
          <Button onClick={onClose}>Done</Button>
        </Group>
      </Stack>
    </Modal>
  );
}
