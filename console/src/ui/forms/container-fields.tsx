import { Select, SimpleGrid } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { registriesQuery } from '../../api/queries.ts';
import type { ContainerValues } from './container-values.ts';
import { EnvEditor } from './env-editor.tsx';
import { type FieldForm, FieldInput, inputProps } from './field-input.tsx';
import type { Field, Fields } from './fields.ts';
import { recordOptions } from './select-options.ts';

interface ContainerFieldsProps {
  form: FieldForm;
  fields: Omit<Fields<ContainerValues>, 'registry'> & { registry?: Field<string | null> };
}

/** The container fields of an endpoint, a pod, a cluster or a template. */
export function ContainerFields({ form, fields: { registry, ...fields } }: ContainerFieldsProps) {
  return (
    <>
      <FieldInput form={form} fields={fields} name="image" />
      <FieldInput form={form} fields={fields} name="args" />
      <SimpleGrid cols={{ base: 1, sm: 2 }}>
        <FieldInput form={form} fields={fields} name="disk" />
        {registry && <RegistryField form={form} fields={{ registry }} />}
      </SimpleGrid>
      <FieldInput form={form} fields={fields} name="ports" />
      <EnvEditor {...inputProps({ form, fields, name: 'env' })} />
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
