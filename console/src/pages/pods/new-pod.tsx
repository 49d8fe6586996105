import {
  Button,
  Fieldset,
  Group,
  NumberInput,
  SegmentedControl,
  Select,
  SimpleGrid,
  Stack,
  TextInput,
} from '@mantine/core';
import { useForm } from '@mantine/form';
import { useMutation, useQueries, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useNavigate } from 'react-router';
import { api, unwrap } from '../../api/client.ts';
import { ContainerFields } from '../../ui/container-fields.tsx';
import { CONTAINER_FIELDS, NEW_CONTAINER } from '../../ui/container-values.ts';
import { envOf } from '../../ui/env-editor.tsx';
import { showDone } from '../../ui/notify.ts';
import { Page } from '../../ui/page.tsx';
import { Refusal } from '../../ui/refusal.tsx';
import { sortRefusal } from '../../ui/server-errors.ts';

const FIELDS = ['name', ...CONTAINER_FIELDS, 'gpu.id', 'gpu.count', 'cpu.id', 'cpu.vcpuCount', 'mounts'];
const NOTHING = { kind: 'none', size: 20, volumeId: '', path: '/workspace' };

export function NewPodPage() {
  const navigate = useNavigate();
  const queries = useQueryClient();
  const [top, setTop] = useState<readonly string[]>([]);
  const form = useForm({
    mode: 'controlled',
    initialValues: {
      name: '',
      ...NEW_CONTAINER,
      hardware: 'gpu',
      gpu: { id: '', count: 1 },
      cpu: { id: '', vcpuCount: 2 },
      mount: NOTHING,
    },
  });
  const [gpus, cpus, volumes] = useQueries({
    queries: [
      {
        queryKey: ['gpus', 'availability'],
        queryFn: () => unwrap(api.GET('/v2/catalog/gpus', { params: { query: { include: 'AVAILABILITY' } } })),
      },
      { queryKey: ['cpus'], queryFn: () => unwrap(api.GET('/v2/catalog/cpus')) },
      { queryKey: ['volumes'], queryFn: () => unwrap(api.GET('/v2/network-volumes')) },
    ],
  });
  const creation = useMutation({
    meta: { isShownInPlace: true },
    mutationFn: (values: typeof form.values) => {
      const { name, image, args, disk, ports, env, registry, hardware, gpu, cpu, mount } = values;
      const base = { name, image, args, disk, ports, env: envOf(env), registry };
      const mounts = {
        ...(mount.kind === 'persistent' ? { persistent: { size: mount.size, path: mount.path } } : {}),
        ...(mount.kind === 'network' ? { network: [{ volumeId: mount.volumeId, path: mount.path }] } : {}),
      };
      return unwrap(api.POST('/v2/pods', { body: { ...base, mounts, ...(hardware === 'gpu' ? { gpu } : { cpu }) } }));
    },
    onSuccess: async (pod) => {
      await queries.invalidateQueries({ queryKey: ['pods'] });
      showDone(`${pod.name} is on its way.`);
      navigate(`/pods/${pod.id}`);
    },
    onError: (error) => {
      const refusal = sortRefusal(error, FIELDS);
      form.setErrors(refusal.fields);
      setTop(refusal.rest);
    },
  });
  const { hardware, mount } = form.values;
  return (
    <Page title="New pod">
      <form
        noValidate
        onSubmit={form.onSubmit((values) => {
          setTop([]);
          creation.mutate(values);
        })}
      >
        <Stack maw={820}>
          <Refusal lines={top} />
          <Fieldset legend="Container">
            <Stack>
              <TextInput label="Name" required {...form.getInputProps('name')} />
              <ContainerFields form={form} portsHint="Like 8888/http, which gets an address of its own, or 22/tcp" />
            </Stack>
          </Fieldset>
          <Fieldset legend="Hardware">
            <Stack>
              <SegmentedControl
                aria-label="Hardware"
                data={[
                  { value: 'gpu', label: 'GPU' },
                  { value: 'cpu', label: 'CPU' },
                ]}
                {...form.getInputProps('hardware')}
              />
              {hardware === 'gpu' ? (
                <SimpleGrid cols={{ base: 1, sm: 2 }}>
                  <Select
                    label="GPU"
                    required
                    searchable
                    data={(gpus.data?.gpus ?? []).map(({ id, name, availability }) => ({
                      value: id,
                      label: `${name} · ${availability === 'NONE' ? 'none free' : availability}`,
                    }))}
                    {...form.getInputProps('gpu.id')}
                  />
                  <NumberInput label="How many" min={1} {...form.getInputProps('gpu.count')} />
                </SimpleGrid>
              ) : (
                <SimpleGrid cols={{ base: 1, sm: 2 }}>
                  <Select
                    label="CPU"
                    required
                    data={(cpus.data?.cpus ?? []).map(({ id, name }) => ({ value: id, label: name }))}
                    {...form.getInputProps('cpu.id')}
                  />
                  <Select
                    label="vCPUs"
                    data={['2', '4', '8', '16', '32']}
                    value={String(form.values.cpu.vcpuCount)}
                    onChange={(value) => form.setFieldValue('cpu.vcpuCount', Number(value))}
                    error={form.errors['cpu.vcpuCount']}
                  />
                </SimpleGrid>
              )}
            </Stack>
          </Fieldset>
          <Fieldset legend="Storage">
            <Stack>
              <SegmentedControl
                aria-label="Storage"
                data={[
                  { value: 'none', label: 'None' },
                  { value: 'persistent', label: 'Persistent' },
                  { value: 'network', label: 'Network volume' },
                ]}
                {...form.getInputProps('mount.kind')}
              />
              {mount.kind !== 'none' && (
                <SimpleGrid cols={{ base: 1, sm: 2 }}>
                  {mount.kind === 'persistent' ? (
                    <NumberInput label="Size" suffix=" GB" min={10} {...form.getInputProps('mount.size')} />
                  ) : (
                    <Select
                      label="Volume"
                      data={(volumes.data?.networkVolumes ?? []).map(({ id, name }) => ({ value: id, label: name }))}
                      {...form.getInputProps('mount.volumeId')}
                    />
                  )}
                  <TextInput label="Mounted at" {...form.getInputProps('mount.path')} error={form.errors.mounts} />
                </SimpleGrid>
              )}
            </Stack>
          </Fieldset>
          <Group>
            <Button type="submit" loading={creation.isPending}>
              Create the pod
            </Button>
          </Group>
        </Stack>
      </form>
    </Page>
  );
}
