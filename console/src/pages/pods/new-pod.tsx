import { Fieldset, SimpleGrid, Stack } from '@mantine/core';
import type { UseFormReturnType } from '@mantine/form';
import { api, unwrap } from '../../api/client.ts';
import { CONTAINER_DETAILS, ContainerDetails, ContainerFields } from '../../ui/forms/container-fields.tsx';
import { containerValues } from '../../ui/forms/container-values.ts';
import { FieldInput, SegmentedField } from '../../ui/forms/field-input.tsx';
import { AdvancedFields, type Preset } from '../../ui/forms/form-parts.tsx';
import { CpuFields } from '../../ui/forms/hardware-fields.tsx';
import { NewRecordPage } from '../../ui/forms/new-record-page.tsx';
import { TemplatePicker } from '../../ui/forms/template-picker.tsx';
import { GpuFields, StartFields, StorageFields } from './pod-fields.tsx';
import { podSummary } from './pod-summary.ts';
import { NEW_POD, POD_FIELDS, type PodValues, podBody } from './pod-values.ts';

type Form = UseFormReturnType<PodValues>;

export function NewPodPage() {
  return (
    <NewRecordPage
      what="pod"
      initial={NEW_POD}
      fields={[...Object.keys(POD_FIELDS), 'mounts']}
      presets={PRESETS}
      summary={podSummary}
      save={(values) => unwrap(api.POST('/v2/pods', { body: podBody(values) }))}
    >
      {(form) => (
        <>
          <Fieldset legend="Container">
            <Stack>
              <FieldInput form={form} fields={POD_FIELDS} name="name" />
              <TemplatePicker kind="pod" onChoose={(template) => form.setValues(containerValues(template))} />
              <ContainerFields form={form} fields={POD_FIELDS} />
            </Stack>
          </Fieldset>
          <HardwareFields form={form} />
          <StorageFields form={form} />
          <StartFields form={form} />
          <AdvancedFields fields={POD_FIELDS} names={ADVANCED} values={form.values}>
            <ContainerDetails form={form} fields={POD_FIELDS} />
          </AdvancedFields>
        </>
      )}
    </NewRecordPage>
  );
}

const ADVANCED = [...CONTAINER_DETAILS, 'registry'] as const;

const PRESETS: Preset<PodValues>[] = [
  {
    label: 'Notebook',
    help: 'Jupyter in the browser, and files that stay',
    from: ({ mount }) => ({ startJupyter: true, mount: { ...mount, kind: 'persistent' } }),
  },
  {
    label: 'Shell',
    help: 'SSH with your keys, and files that stay',
    from: ({ mount }) => ({ startSsh: true, mount: { ...mount, kind: 'persistent' } }),
  },
  { label: 'Web server', help: 'Port 8000 at a URL of its own', from: () => ({ ports: ['8000/http'] }) },
];

function HardwareFields({ form }: { form: Form }) {
  return (
    <Fieldset legend="Hardware">
      <Stack>
        <SegmentedField form={form} fields={POD_FIELDS} name="hardware" />
        <SimpleGrid cols={{ base: 1, sm: 2 }}>
          {form.values.hardware === 'gpu' ? <GpuFields form={form} /> : <CpuFields form={form} fields={POD_FIELDS} />}
        </SimpleGrid>
      </Stack>
    </Fieldset>
  );
}
