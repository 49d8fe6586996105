import {
  Button,
  Fieldset,
  Group,
  Input,
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
import { useQuery } from '@tanstack/react-query';
import { dataCentersQuery, gpusQuery, volumesQuery } from '../../api/queries.ts';
import { ContainerFields } from '../../ui/container-fields.tsx';
import { CpuFields } from '../../ui/cpu-fields.tsx';
import { FormAlert } from '../../ui/form-alert.tsx';
import { numberProps } from '../../ui/number-props.ts';
import { poolOptions, recordOptions, volumeOptions } from '../../ui/select-options.ts';
import { useSave } from '../../ui/use-save.ts';
import { ENDPOINT_FIELDS, type EndpointValues } from './endpoint-values.ts';

type Form = UseFormReturnType<EndpointValues>;

/** Creates or edits an endpoint. The type can be chosen only for a new one. */
export function EndpointForm(props: {
  initial: EndpointValues;
  isNew: boolean;
  onSubmit: (values: EndpointValues) => Promise<unknown>;
}) {
  const { initial, isNew, onSubmit } = props;
  const form = useForm<EndpointValues>({ mode: 'controlled', initialValues: initial });
  const { submit, otherErrors, isSaving } = useSave(form, { fields: ENDPOINT_FIELDS, save: onSubmit });
  return (
    <form onSubmit={submit} noValidate>
      <Stack maw={820}>
        <Fieldset legend="General">
          <Stack>
            <TextInput label="Name" required {...form.getInputProps('name')} />
            {isNew && <TypeField form={form} />}
          </Stack>
        </Fieldset>
        <Fieldset legend="Container">
          <Stack>
            <ContainerFields form={form} portsHint="For example 8000/http or 22/tcp. Press Enter to add one." />
          </Stack>
        </Fieldset>
        <HardwareFields form={form} isNew={isNew} />
        <ScalingFields form={form} />
        <FormAlert errors={otherErrors} />
        <Group>
          <Button type="submit" loading={isSaving} disabled={!isNew && !form.isDirty()}>
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

function TypeField({ form }: { form: Form }) {
  return (
    <Input.Wrapper label="Type" labelElement="div" labelProps={{ id: 'endpoint-type' }}>
      <div>
        <SegmentedControl
          aria-labelledby="endpoint-type"
          data={[
            { value: 'QUEUE_BASED', label: 'Queue' },
            { value: 'LOAD_BALANCING', label: 'Load balancer' },
          ]}
          {...form.getInputProps('type')}
        />
      </div>
      <Text size="xs" c="dimmed" mt={4}>
        {form.values.type === 'QUEUE_BASED'
          ? 'Workers take jobs from a durable queue.'
          : 'HTTP requests and WebSockets go directly to a ready worker.'}
      </Text>
    </Input.Wrapper>
  );
}

function HardwareFields({ form, isNew }: { form: Form; isNew: boolean }) {
  const dataCenters = useQuery(dataCentersQuery);
  const volumes = useQuery(volumesQuery);
  return (
    <Fieldset legend="Hardware and location">
      <Stack>
        {isNew && (
          <SegmentedControl
            w="fit-content"
            aria-label="Hardware"
            data={[
              { value: 'gpu', label: 'GPU' },
              { value: 'cpu', label: 'CPU' },
            ]}
            {...form.getInputProps('hardware')}
          />
        )}
        {form.values.hardware === 'gpu' ? <GpuFields form={form} /> : <CpuSelection form={form} />}
        <MultiSelect
          label="Data centers"
          placeholder={form.values.dataCenterIds.length === 0 ? 'Any' : ''}
          data={recordOptions(dataCenters.data?.dataCenters)}
          searchable
          {...form.getInputProps('dataCenterIds')}
        />
        <MultiSelect
          label="Network volumes"
          placeholder={form.values.networkVolumes.length === 0 ? 'None' : ''}
          description="Mounted at /runpod-volume"
          data={volumeOptions(volumes.data?.networkVolumes)}
          {...form.getInputProps('networkVolumes')}
        />
      </Stack>
    </Fieldset>
  );
}

function GpuFields({ form }: { form: Form }) {
  const gpus = useQuery(gpusQuery);
  return (
    <>
      <MultiSelect
        label="GPU pools"
        required
        description="In order of preference. Each worker uses the first pool with capacity."
        data={poolOptions(gpus.data?.gpus)}
        searchable
        {...form.getInputProps('gpu.pools')}
        error={form.errors['gpu.pools'] ?? form.errors.gpu}
      />
      <NumberInput label="GPUs per worker" min={1} allowDecimal={false} {...numberProps(form, 'gpu.count')} />
    </>
  );
}

function CpuSelection({ form }: { form: Form }) {
  return (
    <>
      <SimpleGrid cols={{ base: 1, sm: 2 }}>
        <CpuFields form={form} />
      </SimpleGrid>
      {form.errors.cpu && <Input.Error>{form.errors.cpu}</Input.Error>}
    </>
  );
}

function ScalingFields({ form }: { form: Form }) {
  return (
    <Fieldset legend="Scaling">
      <SimpleGrid cols={{ base: 1, sm: 2 }}>
        <NumberInput
          label="Min workers"
          description="Kept running even without jobs"
          min={0}
          allowDecimal={false}
          {...numberProps(form, 'workers.min')}
        />
        <NumberInput
          label="Max workers"
          description="0 pauses the endpoint: jobs stay queued"
          min={0}
          allowDecimal={false}
          {...numberProps(form, 'workers.max')}
        />
        <MetricFields form={form} />
        <LifetimeFields form={form} />
      </SimpleGrid>
    </Fieldset>
  );
}

/** The metric that drives scaling, and its target. */
function MetricFields({ form }: { form: Form }) {
  return (
    <>
      <Select
        label="Scaling metric"
        allowDeselect={false}
        data={[
          { value: 'QUEUE_DELAY', label: 'Queue delay' },
          { value: 'REQUEST_COUNT', label: 'Request count' },
        ]}
        {...form.getInputProps('scaling.type')}
      />
      <NumberInput
        label={form.values.scaling.type === 'QUEUE_DELAY' ? 'Target delay (seconds)' : 'Requests per worker'}
        min={0.5}
        step={0.5}
        {...numberProps(form, 'scaling.value')}
      />
    </>
  );
}

/** How long jobs may run, and what happens to workers without jobs. */
function LifetimeFields({ form }: { form: Form }) {
  return (
    <>
      <NumberInput
        label="Idle timeout"
        description="How long a worker may stay idle"
        suffix=" s"
        min={0}
        allowDecimal={false}
        {...numberProps(form, 'scaling.idleTimeout')}
      />
      <NumberInput
        label="Execution timeout"
        description="Per job; 0 for no limit"
        suffix=" ms"
        min={0}
        step={1000}
        allowDecimal={false}
        thousandSeparator=" "
        {...numberProps(form, 'timeout')}
      />
      <Select
        label="FlashBoot"
        description="Freeze idle workers instead of stopping them"
        allowDeselect={false}
        data={[
          { value: 'OFF', label: 'Off' },
          { value: 'FLASHBOOT', label: 'On' },
          { value: 'PRIORITY_FLASHBOOT', label: 'On, with priority' },
        ]}
        {...form.getInputProps('flashboot')}
      />
    </>
  );
}
