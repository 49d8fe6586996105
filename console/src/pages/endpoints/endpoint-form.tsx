import {
  Alert,
  Button,
  Fieldset,
  Group,
  MultiSelect,
  NumberInput,
  SegmentedControl,
  Select,
  SimpleGrid,
  Stack,
  TagsInput,
  Text,
  TextInput,
} from '@mantine/core';
import { useForm } from '@mantine/form';
import { useMutation, useQueries } from '@tanstack/react-query';
import { useState } from 'react';
import { api, type Schemas, unwrap } from '../../api/client.ts';
import { EnvEditor, type EnvRow, envOf, rowsOf } from '../../ui/env-editor.tsx';
import { sortRefusal } from '../../ui/server-errors.ts';

export type Endpoint = Schemas['Endpoint'];

export interface EndpointValues {
  name: string;
  type: 'QUEUE_BASED' | 'LOAD_BALANCING';
  image: string;
  args: string;
  disk: number;
  ports: string[];
  env: EnvRow[];
  registry: string | null;
  gpu: { pools: string[]; count: number };
  workers: { min: number; max: number };
  scaling: { type: 'QUEUE_DELAY' | 'REQUEST_COUNT'; value: number; idleTimeout: number };
  dataCenterIds: string[];
  networkVolumes: string[];
  timeout: number;
  flashboot: 'OFF' | 'FLASHBOOT' | 'PRIORITY_FLASHBOOT';
}

/** Fields that the server may name in a refusal; a part before its whole. */
const FIELDS = [
  'name',
  'image',
  'args',
  'disk',
  'ports',
  'env',
  'registry',
  'gpu.count',
  'gpu.pools',
  'gpu',
  'workers.min',
  'workers.max',
  'scaling.type',
  'scaling.value',
  'scaling.idleTimeout',
  'dataCenterIds',
  'networkVolumes',
  'timeout',
  'flashboot',
];

export const NEW_ENDPOINT: EndpointValues = {
  name: '',
  type: 'QUEUE_BASED',
  image: '',
  args: '',
  disk: 20,
  ports: [],
  env: [],
  registry: null,
  gpu: { pools: [], count: 1 },
  workers: { min: 0, max: 3 },
  scaling: { type: 'QUEUE_DELAY', value: 4, idleTimeout: 5 },
  dataCenterIds: [],
  networkVolumes: [],
  timeout: 300_000,
  flashboot: 'OFF',
};

export function valuesOf(endpoint: Endpoint): EndpointValues {
  return {
    name: endpoint.name,
    type: endpoint.type ?? 'QUEUE_BASED',
    image: endpoint.image,
    args: endpoint.args,
    disk: endpoint.disk,
    ports: endpoint.ports,
    env: rowsOf(endpoint.env),
    registry: endpoint.registry,
    gpu: { pools: endpoint.gpu?.pools ?? [], count: endpoint.gpu?.count ?? 1 },
    workers: endpoint.workers,
    scaling: endpoint.scaling,
    dataCenterIds: endpoint.dataCenterIds,
    networkVolumes: endpoint.networkVolumes,
    timeout: endpoint.timeout,
    flashboot: endpoint.flashboot,
  };
}

type Body = Omit<EndpointValues, 'env' | 'type'> & { env: Record<string, string> };

export function bodyOf({ type: _, ...values }: EndpointValues): Body {
  return { ...values, env: envOf(values.env) };
}

/** Only what differs: an update says what changes and nothing else. */
export function changesOf(before: EndpointValues, after: EndpointValues): Partial<Body> {
  const [old, now] = [bodyOf(before), bodyOf(after)];
  const names = (Object.keys(now) as (keyof Body)[]).filter(
    (name) => JSON.stringify(old[name]) !== JSON.stringify(now[name]),
  );
  return Object.fromEntries(names.map((name) => [name, now[name]]));
}

/** Every field of an endpoint with its limits; what the server refuses is shown at the field, in its words. */
export function EndpointForm(props: {
  initial: EndpointValues;
  isNew: boolean;
  onSubmit: (values: EndpointValues) => Promise<unknown>;
}) {
  const { isNew } = props;
  const [top, setTop] = useState<readonly string[]>([]);
  const form = useForm<EndpointValues>({ mode: 'controlled', initialValues: props.initial });
  const [gpus, dataCenters, volumes, registries] = useQueries({
    queries: [
      {
        queryKey: ['gpus', 'availability'],
        queryFn: () => unwrap(api.GET('/v2/catalog/gpus', { params: { query: { include: 'AVAILABILITY' } } })),
      },
      { queryKey: ['data-centers'], queryFn: () => unwrap(api.GET('/v2/catalog/datacenters')) },
      { queryKey: ['volumes'], queryFn: () => unwrap(api.GET('/v2/network-volumes')) },
      { queryKey: ['registries'], queryFn: () => unwrap(api.GET('/v2/registries')) },
    ],
  });
  const saving = useMutation({
    meta: { isShownInPlace: true },
    mutationFn: props.onSubmit,
    onError: (error) => {
      const refusal = sortRefusal(error, FIELDS);
      form.setErrors(refusal.fields);
      setTop(refusal.rest);
      const [first] = Object.keys(refusal.fields);
      if (first) form.getInputNode(first)?.focus();
    },
    onSuccess: () => setTop([]),
  });
  const pools = new Map<string, string>();
  for (const gpu of gpus.data?.gpus ?? []) {
    if (gpu.pool === null) continue;
    const free = gpu.availability && gpu.availability !== 'NONE' ? ` · ${gpu.availability}` : '';
    pools.set(gpu.pool, `${gpu.pool} (${gpu.memory} GB)${free || (pools.get(gpu.pool)?.split('·')[1] ?? '')}`);
  }
  const number = (name: string) => {
    const { value, onChange, ...rest } = form.getInputProps(name) as {
      value: number;
      onChange: (value: number) => void;
    };
    return { ...rest, value, onChange: (next: number | string) => onChange(next === '' ? 0 : Number(next)) };
  };
  return (
    <form
      onSubmit={form.onSubmit((values) => {
        setTop([]);
        saving.mutate(values);
      })}
      noValidate
    >
      <Stack maw={820}>
        {top.length > 0 && (
          <Alert color="red" role="alert" title="The server refused this">
            {top.map((line) => (
              <div key={line}>{line}</div>
            ))}
          </Alert>
        )}
        <Fieldset legend="What it is">
          <Stack>
            <TextInput label="Name" required {...form.getInputProps('name')} />
            {isNew && (
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
            )}
          </Stack>
        </Fieldset>
        <Fieldset legend="Container">
          <Stack>
            <TextInput label="Image" required placeholder="ghcr.io/you/worker:1.0" {...form.getInputProps('image')} />
            <TextInput
              label="Arguments"
              description={'A shell-like line, or JSON: {"entrypoint": […], "cmd": […]}'}
              {...form.getInputProps('args')}
            />
            <SimpleGrid cols={{ base: 1, sm: 2 }}>
              <NumberInput label="Disk" suffix=" GB" min={1} allowDecimal={false} {...number('disk')} />
              <Select
                label="Registry"
                description="For private images"
                placeholder="none"
                clearable
                data={(registries.data?.registries ?? []).map(({ id, name }) => ({ value: id, label: name }))}
                {...form.getInputProps('registry')}
              />
            </SimpleGrid>
            <TagsInput
              label="Ports"
              description="Like 8000/http or 22/tcp; Enter adds one"
              {...form.getInputProps('ports')}
            />
            <EnvEditor
              value={form.values.env}
              onChange={(rows) => form.setFieldValue('env', rows)}
              error={(form.errors.env as string | undefined) ?? null}
            />
          </Stack>
        </Fieldset>
        <Fieldset legend="Where it runs">
          <Stack>
            <MultiSelect
              label="GPU pools"
              required
              description="In the order you prefer; a worker goes to the first with room"
              data={[...pools].map(([value, label]) => ({ value, label }))}
              searchable
              {...form.getInputProps('gpu.pools')}
              error={form.errors['gpu.pools'] ?? form.errors.gpu}
            />
            <NumberInput label="GPUs per worker" min={1} allowDecimal={false} {...number('gpu.count')} />
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
        <Fieldset legend="How it scales">
          <SimpleGrid cols={{ base: 1, sm: 2 }}>
            <NumberInput
              label="Workers, at least"
              description="Kept ready even without work"
              min={0}
              allowDecimal={false}
              {...number('workers.min')}
            />
            <NumberInput
              label="Workers, at most"
              description="0 stops the endpoint: jobs wait"
              min={0}
              allowDecimal={false}
              {...number('workers.max')}
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
              {...number('scaling.value')}
            />
            <NumberInput
              label="Idle timeout"
              description="A worker without work goes after this"
              suffix=" s"
              min={0}
              allowDecimal={false}
              {...number('scaling.idleTimeout')}
            />
            <NumberInput
              label="Execution timeout"
              description="Of one job; 0: none"
              suffix=" ms"
              min={0}
              step={1000}
              allowDecimal={false}
              thousandSeparator=" "
              {...number('timeout')}
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
