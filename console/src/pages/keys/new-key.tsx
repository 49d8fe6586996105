import {
  Alert,
  Button,
  Code,
  CopyButton,
  Group,
  Modal,
  MultiSelect,
  Select,
  Stack,
  Text,
  TextInput,
} from '@mantine/core';
import type { UseFormReturnType } from '@mantine/form';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import type { Schemas } from '../../api/client.ts';
import { endpointsQuery, podsQuery, registriesQuery, templatesQuery, volumesQuery } from '../../api/queries.ts';
import { FormButton } from '../../ui/forms/form-button.tsx';
import { Hint } from '../../ui/hint.tsx';
import {
  hasExec,
  keySummary,
  LIFETIMES,
  NEW_KEY,
  newKeyBody,
  PRESETS,
  REVISIONS,
  type ScopeChoice,
  type ScopeRecords,
  scopeChoices,
  scopeGroups,
} from './key-values.ts';

interface NewKeyProps {
  queryKey: string;
  /** The key is the reader's own; else of another user, in a section of their page. */
  isOwn: boolean;
  create: (body: Schemas['CreateApiKeyRequest']) => Promise<{ secret: string }>;
  onCreated: (secret: string) => void;
}

/** Makes a key, for oneself or for another user. */
export function NewKey({ queryKey, isOwn, create, onCreated }: NewKeyProps) {
  const queries = useQueryClient();
  // The picker in the dialog reads the records.
  const records = (): Partial<ScopeRecords> => ({
    endpoints: queries.getQueryData(endpointsQuery.queryKey)?.endpoints ?? [],
    pods: queries.getQueryData(podsQuery.queryKey)?.pods ?? [],
    templates: queries.getQueryData(templatesQuery.queryKey)?.templates ?? [],
    volumes: queries.getQueryData(volumesQuery.queryKey)?.networkVolumes ?? [],
    registries: queries.getQueryData(registriesQuery.queryKey)?.registries ?? [],
  });
  return (
    <FormButton
      label="New key"
      title="New API key"
      isInRow={!isOwn}
      queryKey={queryKey}
      summary={(values) => keySummary(values, isOwn ? records() : {}, Date.now())}
      initial={NEW_KEY}
      onSubmit={async (values) => onCreated((await create(newKeyBody(values, Date.now()))).secret)}
    >
      {(form) => (
        <>
          <TextInput label="Name" required data-autofocus {...form.getInputProps('name')} />
          <Group gap={6} role="group" aria-label="Presets">
            {PRESETS.map(({ label, scopes }) => (
              <Button
                key={label}
                variant="default"
                size="compact-sm"
                aria-pressed={scopes.join() === form.values.scopes.join()}
                onClick={() => form.setFieldValue('scopes', scopes)}
              >
                {label}
              </Button>
            ))}
          </Group>
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

/** More are found by searching. */
const SHOWN = 60;

interface ScopePickerProps {
  value: string[];
  onChange: (scopes: string[]) => void;
  error?: ReactNode;
  /** A scope may name a record of the reader: keys of other users cannot. */
  isOwn: boolean;
}

/** The scopes of a key, chosen from a list that says what each allows. */
function ScopePicker({ value, onChange, error, isOwn }: ScopePickerProps) {
  const groups = scopeGroups(useRecords(isOwn));
  const choices = scopeChoices(groups);
  return (
    <Stack gap="xs">
      <MultiSelect
        label="Scopes"
        description={
          isOwn
            ? 'The key may do what one of them allows. To narrow it to an endpoint, a pod or another record, search for its name.'
            : 'The key may do what one of them allows.'
        }
        searchable
        required
        hidePickedOptions
        limit={SHOWN}
        nothingFoundMessage="No such scope, and no record of that name."
        data={groups.map(({ group, items }) => ({ group, items: items.map((item) => ({ ...item })) }))}
        filter={({ options, search }) => findScopes(options as ScopeGroup[], search)}
        renderOption={({ option }) => <Choice choice={choices.get(option.value)!} />}
        value={value}
        onChange={onChange}
        // Enter in the search must not create the key.
        onKeyDown={(event) => event.key === 'Enter' && event.preventDefault()}
        error={error}
      />
      {hasExec(value) && (
        <Alert color="orange" role="status" p="xs" title="This key opens terminals">
          A key with it can run any program in your pods and workers, and reads their files, models and secrets. Only a
          key that has exec can grant it; all does not include it.
        </Alert>
      )}
    </Stack>
  );
}

interface ScopeGroup {
  group: string;
  items: ScopeChoice[];
}

/** By scope, record, id, or what is allowed. */
function findScopes(groups: readonly ScopeGroup[], search: string): ScopeGroup[] {
  const wanted = search.trim().toLowerCase();
  const isFound = ({ value, label, allows }: ScopeChoice) =>
    `${value} ${label} ${allows}`.toLowerCase().includes(wanted);
  return groups.map(({ group, items }) => ({ group, items: items.filter(isFound) }));
}

function Choice({ choice: { label, allows } }: { choice: ScopeChoice }) {
  return (
    <div className="anywhere">
      <Text size="sm" ff="monospace">
        <bdi>{label}</bdi>
      </Text>
      <Hint size="xs">{allows}</Hint>
    </div>
  );
}

/** Leaves out records that are still loading, or that the user may not read. */
function useRecords(isEnabled: boolean): Partial<ScopeRecords> {
  const enabled = isEnabled;
  const endpoints = useQuery({ ...endpointsQuery, enabled, retry: false });
  const pods = useQuery({ ...podsQuery, enabled, retry: false });
  const templates = useQuery({ ...templatesQuery, enabled, retry: false });
  const volumes = useQuery({ ...volumesQuery, enabled, retry: false });
  const registries = useQuery({ ...registriesQuery, enabled, retry: false });
  return {
    endpoints: endpoints.data?.endpoints ?? [],
    pods: pods.data?.pods ?? [],
    templates: templates.data?.templates ?? [],
    volumes: volumes.data?.networkVolumes ?? [],
    registries: registries.data?.registries ?? [],
  };
}
