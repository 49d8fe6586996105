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
import { cpusQuery, dataCentersQuery, volumesQuery } from '../../../api/queries.ts';
import { ContainerFields } from '../../../ui/forms/container-fields.tsx';
import { containerValues } from '../../../ui/forms/container-values.ts';
import { VCPU_COUNTS } from '../../../ui/forms/cpu-fields.tsx';
import { FormAlert } from '../../../ui/forms/form-alert.tsx';
import { PoolPicker } from '../../../ui/forms/gpu-picker.tsx';
import { numberProps } from '../../../ui/forms/number-props.ts';
import { recordOptions, volumeOptions } from '../../../ui/forms/select-options.ts';
import { TemplatePicker } from '../../../ui/forms/template-picker.tsx';
import { useDraft } from '../../../ui/forms/use-draft.tsx';
import { useSave } from '../../../ui/forms/use-save.ts';
import { type CpuChoice, ENDPOINT_FIELDS, type EndpointValues } from './endpoint-values.ts';

type Form = UseFormReturnType<EndpointValues>;

/** Creates or edits an endpoint. The type can be chosen only for a new one. */
export function EndpointForm(props: {
  /** Under which unsaved changes are kept. */
  draftKey: string;
  initial: EndpointValues;
  isNew: boolean;
  onSubmit: (values: EndpointValues) => Promise<unknown>;
}) {
  const { draftKey, initial, isNew, onSubmit } = props;
  const form = useForm<EndpointValues>({ mode: 'controlled', initialValues: initial });
  const draft = useDraft(form, draftKey, initial);
  const { submit, otherErrors, isSaving } = useSave(form, {
    fields: ENDPOINT_FIELDS,
    save: onSubmit,
    onSaved: draft.drop,
  });
  return (
    <form onSubmit={submit} noValidate>
      <Stack maw={820}>
        {draft.note}
        <Fieldset legend="General">
          <Stack>
            <TextInput label="Name" required {...form.getInputProps('name')} />
            {isNew && (
              <TemplatePicker kind="serverless" onChoose={(template) => form.setValues(containerValues(template))} />
            )}
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
            <Button
              variant="default"
              onClick={() => {
                form.reset();
                draft.drop();
              }}
            >
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
  const pools = form.getInputProps('gpu.pools');
  return (
    <>
      <PoolPicker value={pools.value} onChange={pools.onChange} error={form.errors['gpu.pools'] ?? form.errors.gpu} />
      <NumberInput label="GPUs per worker" min={1} allowDecimal={false} {...numberProps(form, 'gpu.count')} />
    </>
  );
}

/** CPU flavors in order of preference. */
function CpuSelection({ form }: { form: Form }) {
  const { data } = useQuery(cpusQuery);
  const { cpus } = form.values;
  const set = (changed: CpuChoice[]) => form.setFieldValue('cpus', changed);
  return (
    <Stack gap="xs">
      {cpus.map((cpu, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a flavor has no other identity
        <Group key={index} gap="xs" align="flex-end">
          <Select
            label={index === 0 ? 'CPU flavors' : undefined}
            aria-label={`CPU flavor ${index + 1}`}
            required={index === 0}
            flex={1}
            data={recordOptions(data?.cpus)}
            value={cpu.id === '' ? null : cpu.id}
            onChange={(id) => set(cpus.with(index, { ...cpu, id: id ?? '' }))}
          />
          <Select
            label={index === 0 ? 'vCPUs' : undefined}
            aria-label={`vCPUs of flavor ${index + 1}`}
            allowDeselect={false}
            w={110}
            data={VCPU_COUNTS}
            value={String(cpu.vcpuCount)}
            onChange={(count) => set(cpus.with(index, { ...cpu, vcpuCount: Number(count) }))}
          />
          <Button
            variant="subtle"
            color="gray"
            disabled={cpus.length === 1}
            onClick={() => set(cpus.toSpliced(index, 1))}
            aria-label={`Remove flavor ${index + 1}`}
          >
            Remove
          </Button>
        </Group>
      ))}
      <Group>
        <Button size="xs" variant="default" onClick={() => set([...cpus, { id: '', vcpuCount: 2 }])}>
          Add another flavor
        </Button>
        <Text size="xs" c="dimmed">
          In order of preference. Each worker gets the first that has capacity.
        </Text>
      </Group>
      {form.errors.cpu && <Input.Error>{form.errors.cpu}</Input.Error>}
    </Stack>
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
        error={form.errors['scaling.value'] ?? form.errors['scaling.queueDelay'] ?? form.errors['scaling.requestCount']}
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
        error={form.errors['scaling.idleTimeout'] ?? form.errors['workers.idleTimeout']}
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
