import { Button, Fieldset, SimpleGrid, Stack } from '@mantine/core';
import { type UseFormReturnType, useForm } from '@mantine/form';
import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from 'react-router';
import { api, unwrap } from '../../api/client.ts';
import { CONTAINER_DETAILS, ContainerDetails, ContainerFields } from '../../ui/forms/container-fields.tsx';
import { containerValues } from '../../ui/forms/container-values.ts';
import { FieldInput, SegmentedField } from '../../ui/forms/field-input.tsx';
import { FormLayout } from '../../ui/forms/form-layout.tsx';
import { AdvancedFields, type Preset, Presets } from '../../ui/forms/form-parts.tsx';
import { CpuFields } from '../../ui/forms/hardware-fields.tsx';
import { Summary } from '../../ui/forms/summary.tsx';
import { TemplatePicker } from '../../ui/forms/template-picker.tsx';
import { useDraft } from '../../ui/forms/use-draft.tsx';
import { usePriceList } from '../../ui/forms/use-price-list.ts';
import { useSave } from '../../ui/forms/use-save.ts';
import { notifySuccess } from '../../ui/notify.ts';
import { Page } from '../../ui/page.tsx';
import { GpuFields, StartFields, StorageFields } from './pod-fields.tsx';
import { podSummary } from './pod-summary.ts';
import { NEW_POD, POD_FIELDS, type PodValues, podBody } from './pod-values.ts';

type Form = UseFormReturnType<PodValues>;

export function NewPodPage() {
  const navigate = useNavigate();
  const queries = useQueryClient();
  const form = useForm<PodValues>({ mode: 'controlled', initialValues: NEW_POD });
  const draft = useDraft(form, 'new-pod', NEW_POD);
  const list = usePriceList();
  const { submit, otherErrors, isSaving } = useSave(form, {
    fields: [...Object.keys(POD_FIELDS), 'mounts'],
    save: (values) => unwrap(api.POST('/v2/pods', { body: podBody(values) })),
    onSaved: async (pod) => {
      draft.drop();
      await queries.invalidateQueries({ queryKey: ['pods'] });
      notifySuccess(`Created ${pod.name}.`);
      navigate(`/pods/${pod.id}`);
    },
  });
  return (
    <Page title="New pod" parents={[{ to: '/pods', label: 'Pods' }]}>
      <FormLayout
        onSubmit={submit}
        note={draft.note}
        presets={<Presets form={form} presets={PRESETS} />}
        summary={<Summary text={podSummary(form.values, list)} />}
        errors={otherErrors}
        actions={
          <Button type="submit" loading={isSaving}>
            Create pod
          </Button>
        }
      >
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
      </FormLayout>
    </Page>
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
