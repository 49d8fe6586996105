import { ActionIcon, Button, Group, Input, Select, SimpleGrid, Stack, TextInput } from '@mantine/core';
import { IconPlus, IconTrash } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { registriesQuery } from '../../api/queries.ts';
import type { ContainerValues, EnvRow } from './container-values.ts';
import { type FieldForm, FieldInput, inputProps } from './field-input.tsx';
import { type Field, type Fields, recordOptions } from './fields.ts';

interface ContainerFieldsProps {
  form: FieldForm;
  fields: Omit<Fields<ContainerValues>, 'registry'> & { registry?: Field<string | null> };
}

/** The container fields of an endpoint, a pod, a cluster or a template. */
export function ContainerFields({ form, fields: { registry: _, ...fields } }: ContainerFieldsProps) {
  return (
    <>
      <FieldInput form={form} fields={fields} name="image" />
      <FieldInput form={form} fields={fields} name="ports" />
      <EnvEditor {...inputProps({ form, fields, name: 'env' })} />
    </>
  );
}

/** The fields of ContainerDetails that every form has. */
export const CONTAINER_DETAILS = ['args', 'disk'] as const;

/** The container fields that most people leave as they are. */
export function ContainerDetails({ form, fields: { registry, ...fields } }: ContainerFieldsProps) {
  return (
    <>
      <FieldInput form={form} fields={fields} name="args" />
      <SimpleGrid cols={{ base: 1, sm: 2 }}>
        <FieldInput form={form} fields={fields} name="disk" />
        {registry && <RegistryField form={form} fields={{ registry }} />}
      </SimpleGrid>
    </>
  );
}

function RegistryField({ form, fields }: { form: FieldForm; fields: { registry: Field<string | null> } }) {
  const registries = useQuery(registriesQuery);
  return (
    <Select
      clearable
      data={recordOptions(registries.data?.registries)}
      {...inputProps({ form, fields, name: 'registry' })}
    />
  );
}

/** Edits environment variables, one row each. */
function EnvEditor(props: {
  label: string;
  description: string | undefined;
  value: EnvRow[];
  onChange: (rows: EnvRow[]) => void;
  error?: ReactNode;
}) {
  const { label, description, value: rows, onChange, error } = props;
  return (
    <Input.Wrapper labelElement="div" label={label} description={description} error={error}>
      <Stack gap={6} mt={6}>
        {rows.map((row, index) => (
          <VariableRow
            // biome-ignore lint/suspicious/noArrayIndexKey: a row has no other identity
            key={index}
            row={row}
            number={index + 1}
            onChange={(changed) => onChange(rows.with(index, changed))}
            onRemove={() => onChange(rows.toSpliced(index, 1))}
          />
        ))}
        <Group>
          <Button
            size="xs"
            variant="default"
            leftSection={<IconPlus size={14} aria-hidden />}
            onClick={() => onChange([...rows, { key: '', value: '' }])}
          >
            Add variable
          </Button>
        </Group>
      </Stack>
    </Input.Wrapper>
  );
}

function VariableRow(props: { row: EnvRow; number: number; onChange: (row: EnvRow) => void; onRemove: () => void }) {
  const { row, number, onChange, onRemove } = props;
  return (
    <Group gap={6} wrap="nowrap" className="variable">
      <TextInput
        aria-label={`Name of variable ${number}`}
        placeholder="NAME"
        value={row.key}
        onChange={(event) => onChange({ ...row, key: event.currentTarget.value })}
      />
      <TextInput
        aria-label={`Value of variable ${number}`}
        placeholder="Value"
        value={row.value}
        onChange={(event) => onChange({ ...row, value: event.currentTarget.value })}
      />
      <ActionIcon variant="subtle" color="gray" aria-label={`Remove variable ${row.key || number}`} onClick={onRemove}>
        <IconTrash size={16} />
      </ActionIcon>
    </Group>
  );
}
