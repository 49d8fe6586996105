import { Alert, MultiSelect, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { endpointsQuery, podsQuery, registriesQuery, templatesQuery, volumesQuery } from '../../api/queries.ts';
import { hasExec, type ScopeChoice, type ScopeRecords, scopeGroups } from './key-scopes.ts';

/** More are found by searching. */
const SHOWN = 60;

interface ScopePickerProps {
  value: string[];
  onChange: (scopes: string[]) => void;
  error?: ReactNode;
  /** Whether a scope may name a record of the reader: keys of other users cannot. */
  isOwn: boolean;
}

/** The scopes of a key, chosen from a list that says what each allows. */
export function ScopePicker({ value, onChange, error, isOwn }: ScopePickerProps) {
  const groups = scopeGroups(useRecords(isOwn));
  const choices = new Map(groups.flatMap(({ items }) => items.map((item) => [item.value, item] as const)));
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
        // What was not found must not create the key.
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
      <Text size="xs" c="dimmed">
        {allows}
      </Text>
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
