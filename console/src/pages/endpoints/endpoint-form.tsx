import {
  Button,
  Fieldset,
  Group,
  MultiSelect,
  NumberInput,
  SegmentedControl,
  Select,
  SimpleGrid,
  Stack,
  Text,
  TextInput,
} from '@mantine/core';
import { type UseFormReturnType, useForm } from '@mantine/form';
import { useMutation, useQueries } from '@tanstack/react-query';
import { useState } from 'react';
import { api, type Schemas, unwrap } from '../../api/client.ts';
import { ContainerFields } from '../../ui/container-fields.tsx';
import { numberProps } from '../../ui/number-props.ts';
import { Refusal } from '../../ui/refusal.tsx';
import { sortRefusal } from '../../ui/server-errors.ts';
import { ENDPOINT_FIELDS, type EndpointValues } from './endpoint-values.ts';

/** Every field of an endpoint with its limits; what the server refuses is shown at the field, in its words. */
export function EndpointForm(props: {
  initial: EndpointValues;
  isNew: boolean;
  onSubmit: (values: EndpointValues) => Promise<unknown>;
}) {
  const { isNew } = props;
  const [top, setTop] = useState<readonly string[]>([]);
  const form = useForm<EndpointValues>({ mode: 'controlled', initialValues: props.initial });
  const saving = useMutation({
    meta: { isShownInPlace: true },
    mutationFn: props.onSubmit,
    onError: (error) => {
      const refusal = sortRefusal(error, ENDPOINT_FIELDS);
      form.setErrors(refusal.fields);
      setTop(refusal.rest);
      const [first] = Object.keys(refusal.fields);
      if (first) form.getInputNode(first)?.focus();
    },
    onSuccess: () => setTop([]),
  });
  return (
    <form
      onSubmit={form.onSubmit((values) => {
        setTop([]);
        saving.mutate(values);
      })}
      noValidate
    >
      <Stack maw={820}>
        <Refusal lines={top} />
        <Fieldset legend="What it is">
          <Stack>
            <TextInput label="Name" required {...form.getInputProps('name')} />
            {isNew && <KindField form={form} />}
          </Stack>
        </Fieldset>
        <Fieldset legend="Container">
          <Stack>
            <ContainerFields form={form} portsHint="Like 8000/http or 22/tcp; Enter adds one" />
          </Stack>
        </Fieldset>
        <PlaceFields form={form} />
        <ScalingFields form={form} />
        <Group>
          <Button type="submit" loading={saving.isPending} disabled={!isNew && !form.isDirty()}>
            {isNew ? 'Deploy' : 'Save'}
          </Button>
          {!isNew && form.isDirty() && (
            <Button variant="default" onClick={() => form.reset()}>
              Discard changes
            </Button>
          )}
        </Group>
      </Stack>
    </form>
  );
}

type Form = UseFormReturnType<EndpointValues>;

function KindField({ form }: { form: Form }) {
  return (
    <div>
      <Text size="sm" fw={500} id="endpoint-type">
        Kind
      </Text>
      <SegmentedControl
        aria-labelledby="endpoint-type"
        data={[
          { value: 'QUEUE_BASED', label: 'Queue of jobs' },
          { value: 'LOAD_BALANCING', label: 'Load-balanced HTTP' },
        ]}
        {...form.getInputProps('type')}
      />
      <Text size="xs" c="dimmed" mt={4}>
        {form.values.type === 'QUEUE_BASED'
          ? 'Jobs wait in a durable queue; workers take them one by one.'
          : 'Requests of any kind, WebSockets too, go straight to a worker that is ready.'}
      </Text>
    </div>
  );
}

function PlaceFields({ form }: { form: Form }) {
  const [gpus, dataCenters, volumes] = useQueries({
    queries: [
      {
        queryKey: ['gpus', 'availability'],
        queryFn: () => unwrap(api.GET('/v2/catalog/gpus', { params: { query: { include: 'AVAILABILITY' } } })),
      },
      { queryKey: ['data-centers'], queryFn: () => unwrap(api.GET('/v2/catalog/datacenters')) },
      { queryKey: ['volumes'], queryFn: () => unwrap(api.GET('/v2/network-volumes')) },
    ],
  });
  return (
    <Fieldset legend="Where it runs">
      <Stack>
        <MultiSelect
          label="GPU pools"
          required
          description="In the order you prefer; a worker goes to the first with room"
          data={poolChoices(gpus.data?.gpus ?? [])}
          searchable
          {...form.getInputProps('gpu.pools')}
          error={form.errors['gpu.pools'] ?? form.errors.gpu}
        />
        <NumberInput label="GPUs per worker" min={1} allowDecimal={false} {...numberProps(form, 'gpu.count')} />
        <MultiSelect
          label="Data centers"
          placeholder="any"
          data={(dataCenters.data?.dataCenters ?? []).map(({ id, name }) => ({ value: id, label: name }))}
          searchable
          {...form.getInputProps('dataCenterIds')}
        />
        <MultiSelect
          label="Network volumes"
          placeholder="none"
          description="Mounted at /runpod-volume"
          data={(volumes.data?.networkVolumes ?? []).map(({ id, name, dataCenter }) => ({
            value: id,
            label: `${name} (${dataCenter})`,
          }))}
          {...form.getInputProps('networkVolumes')}
        />
      </Stack>
    </Fieldset>
  );
}

/** Each pool once, with its memory and, where some are free, how much can be had. */
function poolChoices(gpus: readonly Schemas['GpuType'][]): { value: string; label: string }[] {
  const pools = new Map<string, string>();
  for (const { pool, memory, availability } of gpus) {
    if (pool === null) continue;
    const free = availability && availability !== 'NONE' ? ` · ${availability}` : '';
    if (free !== '' || !pools.has(pool)) pools.set(pool, `${pool} (${memory} GB)${free}`);
  }
  return [...pools].map(([value, label]) => ({ value, label }));
}

function ScalingFields({ form }: { form: Form }) {
  return (
    <Fieldset legend="How it scales">
      <SimpleGrid cols={{ base: 1, sm: 2 }}>
        <NumberInput
          label="Workers, at least"
          description="Kept ready even without work"
          min={0}
          allowDecimal={false}
          {...numberProps(form, 'workers.min')}
        />
        <NumberInput
          label="Workers, at most"
          description="0 stops the endpoint: jobs wait"
          min={0}
          allowDecimal={false}
          {...numberProps(form, 'workers.max')}
        />
        <Select
          label="Scale by"
          allowDeselect={false}
          data={[
            { value: 'QUEUE_DELAY', label: 'How long a job waits' },
            { value: 'REQUEST_COUNT', label: 'How many jobs there are' },
          ]}
          {...form.getInputProps('scaling.type')}
        />
        <NumberInput
          label={form.values.scaling.type === 'QUEUE_DELAY' ? 'Seconds of waiting' : 'Jobs per worker'}
          min={0.5}
          step={0.5}
          {...numberProps(form, 'scaling.value')}
        />
        <NumberInput
          label="Idle timeout"
          description="A worker without work goes after this"
          suffix=" s"
          min={0}
          allowDecimal={false}
          {...numberProps(form, 'scaling.idleTimeout')}
        />
        <NumberInput
          label="Execution timeout"
          description="Of one job; 0: none"
          suffix=" ms"
          min={0}
          step={1000}
          allowDecimal={false}
          thousandSeparator=" "
          {...numberProps(form, 'timeout')}
        />
        <Select
          label="FlashBoot"
          description="Workers are frozen instead of thrown away"
          allowDeselect={false}
          data={[
            { value: 'OFF', label: 'Off' },
            { value: 'FLASHBOOT', label: 'On' },
            { value: 'PRIORITY_FLASHBOOT', label: 'On, with priority' },
          ]}
          {...form.getInputProps('flashboot')}
        />
      </SimpleGrid>
    </Fieldset>
  );
}
