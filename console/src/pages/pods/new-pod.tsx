import { Button, Fieldset, Group, SimpleGrid, Stack } from '@mantine/core';
import { type UseFormReturnType, useForm } from '@mantine/form';
import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from 'react-router';
import { api, unwrap } from '../../api/client.ts';
import { FormAlert } from '../../ui/error-alert.tsx';
import { ContainerFields } from '../../ui/forms/container-fields.tsx';
import { containerValues } from '../../ui/forms/container-values.ts';
import { FieldInput, SegmentedField } from '../../ui/forms/field-input.tsx';
import { CpuFields } from '../../ui/forms/hardware-fields.tsx';
import { TemplatePicker } from '../../ui/forms/template-picker.tsx';
import { useDraft } from '../../ui/forms/use-draft.tsx';
import { useSave } from '../../ui/forms/use-save.ts';
import { notifySuccess } from '../../ui/notify.ts';
import { Page } from '../../ui/page.tsx';
import { GpuFields, StartFields, StorageFields } from './pod-fields.tsx';
import { NEW_POD, POD_FIELDS, type PodValues, podBody } from './pod-values.ts';

type Form = UseFormReturnType<PodValues>;

export function NewPodPage() {
  const navigate = useNavigate();
  const queries = useQueryClient();
  const form = useForm<PodValues>({ mode: 'controlled', initialValues: NEW_POD });
  const draft = useDraft(form, 'new-pod', NEW_POD);
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
      <form noValidate onSubmit={submit}>
        <Stack maw={820}>
          {draft.note}
          <Fieldset legend="Container">
            <Stack>
              <FieldInput form={form} fields={POD_FIELDS} name="name" />
              <TemplatePicker kind="pod" onChoose={(template) => form.setValues(containerValues(template))} />
              <ContainerFields form={form} fields={POD_FIELDS} />
            </Stack>
          </Fieldset>
          <StartFields form={form} />
          <HardwareFields form={form} />
          <StorageFields form={form} />
          <FormAlert errors={otherErrors} />
          <Group>
            <Button type="submit" loading={isSaving}>
              Create pod
            </Button>
          </Group>
        </Stack>
      </form>
    </Page>
  );
}

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
