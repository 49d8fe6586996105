import {
  Button,
  Checkbox,
  Fieldset,
  Group,
  NumberInput,
  SegmentedControl,
  Select,
  SimpleGrid,
  Stack,
  TextInput,
} from '@mantine/core';
import { type UseFormReturnType, useForm } from '@mantine/form';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from 'react-router';
import { api, unwrap } from '../../api/client.ts';
import { gpusQuery, volumesQuery } from '../../api/queries.ts';
import { ContainerFields } from '../../ui/container-fields.tsx';
import { CpuFields } from '../../ui/cpu-fields.tsx';
import { FormAlert } from '../../ui/form-alert.tsx';
import { notifySuccess } from '../../ui/notify.ts';
import { numberProps } from '../../ui/number-props.ts';
import { Page } from '../../ui/page.tsx';
import { gpuOptions, volumeOptions } from '../../ui/select-options.ts';
import { useSave } from '../../ui/use-save.ts';
import { NEW_POD, POD_FIELDS, type PodValues, podBody } from './pod-values.ts';

type Form = UseFormReturnType<PodValues>;

export function NewPodPage() {
  const navigate = useNavigate();
  const queries = useQueryClient();
  const form = useForm<PodValues>({ mode: 'controlled', initialValues: NEW_POD });
  const { submit, otherErrors, isSaving } = useSave(form, {
    fields: POD_FIELDS,
    save: (values) => unwrap(api.POST('/v2/pods', { body: podBody(values) })),
    onSaved: async (pod) => {
      await queries.invalidateQueries({ queryKey: ['pods'] });
      notifySuccess(`Created ${pod.name}.`);
      navigate(`/pods/${pod.id}`);
    },
  });
  return (
    <Page title="New pod">
      <form noValidate onSubmit={submit}>
        <Stack maw={820}>
          <Fieldset legend="Container">
            <Stack>
              <TextInput label="Name" required {...form.getInputProps('name')} />
              <ContainerFields
                form={form}
                portsHint="For example 8888/http or 22/tcp. Each HTTP port gets its own URL."
              />
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

function StartFields({ form }: { form: Form }) {
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

function HardwareFields({ form }: { form: Form }) {
  return (
    <Fieldset legend="Hardware">
      <Stack>
        <SegmentedControl
          w="fit-content"
          aria-label="Hardware"
          data={[
            { value: 'gpu', label: 'GPU' },
            { value: 'cpu', label: 'CPU' },
          ]}
          {...form.getInputProps('hardware')}
        />
        <SimpleGrid cols={{ base: 1, sm: 2 }}>
          {form.values.hardware === 'gpu' ? <GpuFields form={form} /> : <CpuFields form={form} />}
        </SimpleGrid>
      </Stack>
    </Fieldset>
  );
}

function GpuFields({ form }: { form: Form }) {
  const { data } = useQuery(gpusQuery);
  return (
    <>
      <Select label="GPU" required searchable data={gpuOptions(data?.gpus)} {...form.getInputProps('gpu.id')} />
      <NumberInput label="GPU count" min={1} allowDecimal={false} {...numberProps(form, 'gpu.count')} />
    </>
  );
}

function StorageFields({ form }: { form: Form }) {
  const { kind } = form.values.mount;
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
            <TextInput label="Mount path" {...form.getInputProps('mount.path')} error={form.errors.mounts} />
          </SimpleGrid>
        )}
      </Stack>
    </Fieldset>
  );
}

function SizeField({ form }: { form: Form }) {
  return <NumberInput label="Size" suffix=" GB" min={10} {...numberProps(form, 'mount.sizeGb')} />;
}

function VolumeField({ form }: { form: Form }) {
  const { data } = useQuery(volumesQuery);
  return (
    <Select
      label="Network volume"
      data={volumeOptions(data?.networkVolumes)}
      {...form.getInputProps('mount.volumeId')}
    />
  );
}
