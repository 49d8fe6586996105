import { NumberInput, Select, SimpleGrid, TagsInput, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { registriesQuery } from '../../api/queries.ts';
import { EnvEditor } from './env-editor.tsx';
import { type FieldForm, numberProps } from './number-props.ts';
import { recordOptions } from './select-options.ts';

/** The container fields of an endpoint, a pod or a template. */
export function ContainerFields(props: { form: FieldForm; portsHint: string; hasRegistry?: boolean }) {
  const { form, portsHint, hasRegistry = true } = props;
  const env = form.getInputProps('env');
  return (
    <>
      <TextInput label="Image" required placeholder="ghcr.io/acme/worker:1.0" {...form.getInputProps('image')} />
      <TextInput
        label="Arguments"
        description={'A command line, or JSON: {"entrypoint": […], "cmd": […]}'}
        {...form.getInputProps('args')}
      />
      <SimpleGrid cols={{ base: 1, sm: 2 }}>
        <NumberInput
          label="Container disk"
          description="Wiped on restart"
          suffix=" GB"
          min={1}
          allowDecimal={false}
          {...numberProps(form, 'disk')}
        />
        {hasRegistry && <RegistryField form={form} />}
      </SimpleGrid>
      <TagsInput label="Ports" description={portsHint} {...form.getInputProps('ports')} />
      <EnvEditor value={env.value} onChange={env.onChange} error={env.error ?? null} />
    </>
  );
}

function RegistryField({ form }: { form: FieldForm }) {
  const registries = useQuery(registriesQuery);
  return (
    <Select
      label="Registry credentials"
      description="For private images"
      placeholder="None"
      clearable
      data={recordOptions(registries.data?.registries)}
      {...form.getInputProps('registry')}
    />
  );
}
