import { Checkbox, Fieldset, NumberInput, SegmentedControl, Select, SimpleGrid, Stack, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { volumesQuery } from '../../api/queries.ts';
import { GpuPicker } from '../../ui/forms/gpu-picker.tsx';
import { type FieldForm, numberProps } from '../../ui/forms/number-props.ts';
import { volumeOptions } from '../../ui/forms/select-options.ts';

/** Fields that pods and clusters share: what images start beside their program. */
export function StartFields({ form }: { form: FieldForm }) {
  return (
    <Fieldset legend="Access">
      <Stack>
        <Checkbox
          label="Start SSH"
          description="Passes your SSH keys as PUBLIC_KEY and publishes port 22. The image must start an SSH server."
          {...form.getInputProps('start.ssh', { type: 'checkbox' })}
        />
        <Checkbox
          label="Start Jupyter"
          description="Passes a password as JUPYTER_PASSWORD and exposes port 8888. The image must start Jupyter."
          {...form.getInputProps('start.jupyter', { type: 'checkbox' })}
        />
      </Stack>
    </Fieldset>
  );
}

/** The GPUs of one pod. */
export function GpuFields({ form }: { form: FieldForm }) {
  const gpu = form.getInputProps('gpu.id');
  return (
    <>
      <GpuPicker value={gpu.value} onChange={gpu.onChange} error={gpu.error} />
      <NumberInput label="GPU count" min={1} allowDecimal={false} {...numberProps(form, 'gpu.count')} />
    </>
  );
}

/** The storage of one pod. */
export function StorageFields({ form }: { form: FieldForm }) {
  const kind: string = form.getInputProps('mount.kind').value;
  return (
    <Fieldset legend="Storage">
      <Stack>
        <SegmentedControl
          w="fit-content"
          aria-label="Storage"
          data={[
            { value: 'none', label: 'None' },
            { value: 'persistent', label: 'Persistent' },
            { value: 'network', label: 'Network volume' },
          ]}
          {...form.getInputProps('mount.kind')}
        />
        {kind !== 'none' && (
          <SimpleGrid cols={{ base: 1, sm: 2 }}>
            {kind === 'persistent' ? <SizeField form={form} /> : <VolumeField form={form} />}
            <TextInput
              label="Mount path"
              {...form.getInputProps('mount.path')}
              error={form.getInputProps('mounts').error}
            />
          </SimpleGrid>
        )}
      </Stack>
    </Fieldset>
  );
}

function SizeField({ form }: { form: FieldForm }) {
  return <NumberInput label="Size" suffix=" GB" min={10} {...numberProps(form, 'mount.sizeGb')} />;
}

function VolumeField({ form }: { form: FieldForm }) {
  const { data } = useQuery(volumesQuery);
  return (
    <Select
      label="Network volume"
      data={volumeOptions(data?.networkVolumes)}
      {...form.getInputProps('mount.volumeId')}
    />
  );
}
