/** Fields that pods and clusters share. */
import { Fieldset, Select, SimpleGrid, Stack } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { volumesQuery } from '../../api/queries.ts';
import { type FieldForm, FieldInput, inputProps, SegmentedField } from '../../ui/forms/field-input.tsx';
import { volumeOptions } from '../../ui/forms/fields.ts';
import { GpuPicker } from '../../ui/forms/hardware-fields.tsx';
import { SHARED_FIELDS as fields } from './pod-values.ts';

/** Programs that images start beside their own. */
export function StartFields({ form }: { form: FieldForm }) {
  return (
    <Fieldset legend="Access">
      <Stack>
        <FieldInput form={form} fields={fields} name="startSsh" />
        <FieldInput form={form} fields={fields} name="startJupyter" />
      </Stack>
    </Fieldset>
  );
}

/** The GPUs of one pod. */
export function GpuFields({ form }: { form: FieldForm }) {
  return (
    <>
      <GpuPicker {...inputProps({ form, fields, name: 'gpu.id' })} />
      <FieldInput form={form} fields={fields} name="gpu.count" />
    </>
  );
}

/** The storage of one pod. All its errors appear at the path. */
export function StorageFields({ form }: { form: FieldForm }) {
  const kind: string = form.getInputProps('mount.kind').value;
  return (
    <Fieldset legend="Storage">
      <Stack>
        <SegmentedField form={form} fields={fields} name="mount.kind" />
        {kind !== 'none' && (
          <SimpleGrid cols={{ base: 1, sm: 2 }}>
            {kind === 'persistent' ? (
              <FieldInput form={form} fields={fields} name="mount.sizeGb" />
            ) : (
              <VolumeField form={form} />
            )}
            <FieldInput form={form} fields={fields} name="mount.path" error={form.getInputProps('mounts').error} />
          </SimpleGrid>
        )}
      </Stack>
    </Fieldset>
  );
}

function VolumeField({ form }: { form: FieldForm }) {
  const { data } = useQuery(volumesQuery);
  return (
    <Select data={volumeOptions(data?.networkVolumes)} {...inputProps({ form, fields, name: 'mount.volumeId' })} />
  );
}
