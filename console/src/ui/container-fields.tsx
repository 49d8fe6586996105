import { NumberInput, Select, SimpleGrid, TagsInput, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { api, unwrap } from '../api/client.ts';
import { EnvEditor } from './env-editor.tsx';
import { type FieldForm, numberProps } from './number-props.ts';

/** The container block that endpoints and pods share. */
export function ContainerFields({ form, portsHint }: { form: FieldForm; portsHint: string }) {
  const registries = useQuery({ queryKey: ['registries'], queryFn: () => unwrap(api.GET('/v2/registries')) });
  const env = form.getInputProps('env');
  return (
    <>
      <TextInput label="Image" required placeholder="ghcr.io/you/worker:1.0" {...form.getInputProps('image')} />
      <TextInput
        label="Arguments"
        description={'A shell-like line, or JSON: {"entrypoint": […], "cmd": […]}'}
        {...form.getInputProps('args')}
      />
      <SimpleGrid cols={{ base: 1, sm: 2 }}>
        <NumberInput label="Disk" suffix=" GB" min={1} allowDecimal={false} {...numberProps(form, 'disk')} />
        <Select
          label="Registry"
          description="For private images"
          placeholder="none"
          clearable
          data={(registries.data?.registries ?? []).map(({ id, name }) => ({ value: id, label: name }))}
          {...form.getInputProps('registry')}
        />
      </SimpleGrid>
      <TagsInput label="Ports" description={portsHint} {...form.getInputProps('ports')} />
      <EnvEditor value={env.value} onChange={env.onChange} error={env.error ?? null} />
    </>
  );
}
