import {
  Button,
  Fieldset,
  Group,
  Input,
  MultiSelect,
  SegmentedControl,
  Select,
  SimpleGrid,
  Stack,
  Text,
} from '@mantine/core';
import { type UseFormReturnType, useForm } from '@mantine/form';
import { useQuery } from '@tanstack/react-query';
import { cpusQuery, dataCentersQuery } from '../../../api/catalog-queries.ts';
import { registriesQuery, volumesQuery } from '../../../api/queries.ts';
import { CONTAINER_DETAILS, ContainerDetails, ContainerFields } from '../../../ui/forms/container-fields.tsx';
import { containerValues } from '../../../ui/forms/container-values.ts';
import { FieldInput, inputProps, SegmentedField } from '../../../ui/forms/field-input.tsx';
import { choiceOptions, recordOptions, volumeOptions } from '../../../ui/forms/fields.ts';
import { FormLayout } from '../../../ui/forms/form-layout.tsx';
import { AdvancedFields, type Preset, Presets } from '../../../ui/forms/form-parts.tsx';
import { PoolPicker, vcpuOptions } from '../../../ui/forms/hardware-fields.tsx';
import { Summary } from '../../../ui/forms/summary.tsx';
import { TemplatePicker } from '../../../ui/forms/template-picker.tsx';
import { useDraft } from '../../../ui/forms/use-draft.tsx';
import { usePriceList } from '../../../ui/forms/use-price-list.ts';
import { useSave } from '../../../ui/forms/use-save.ts';
import { Hint } from '../../../ui/hint.tsx';
import { ModelsField } from '../../models/models-field.tsx';
import { endpointSummary } from './endpoint-summary.ts';
import {
  type CpuChoice,
  ENDPOINT_FIELDS,
  type Endpoint,
  type EndpointValues,
  hasIdleTimeout,
  NEW_ENDPOINT,
} from './endpoint-values.ts';

type Form = UseFormReturnType<EndpointValues>;

/** Creates or edits an endpoint. The type can be chosen only for a new one. */
export function EndpointForm(props: {
  /** Under which unsaved changes are kept. */
  draftKey: string;
  initial: EndpointValues;
  /** Absent: it creates one. */
  endpoint?: Endpoint;
  onSubmit: (values: EndpointValues) => Promise<unknown>;
}) {
  const { draftKey, initial, endpoint, onSubmit } = props;
  const isNew = endpoint === undefined;
  const list = usePriceList();
  const names = useRecordNames();
  const form = useForm<EndpointValues>({ mode: 'controlled', initialValues: initial });
  const draft = useDraft(form, draftKey, initial);
  const { submit, otherErrors, isSaving } = useSave(form, {
    fields: [...Object.keys(ENDPOINT_FIELDS), 'gpu'],
    save: onSubmit,
    onSaved: draft.drop,
  });
  return (
    <FormLayout
      onSubmit={submit}
      note={draft.note}
      presets={isNew && <Presets form={form} presets={PRESETS} />}
      summary={<Summary text={endpointSummary(form.values, list, { endpoint, names })} />}
      errors={otherErrors}
      actions={
        <>
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
          <Button type="submit" loading={isSaving} disabled={!isNew && !form.isDirty()}>
            {isNew ? 'Deploy' : 'Save'}
          </Button>
        </>
      }
    >
      <Fieldset legend="General">
        <Stack>
          <FieldInput form={form} fields={ENDPOINT_FIELDS} name="name" />
          {isNew && (
            <TemplatePicker kind="serverless" onChoose={(template) => form.setValues(containerValues(template))} />
          )}
          {isNew && <TypeField form={form} />}
        </Stack>
      </Fieldset>
      <Fieldset legend="Container">
        <Stack>
          <ContainerFields form={form} fields={ENDPOINT_FIELDS} />
        </Stack>
      </Fieldset>
      {isNew && (
        <Fieldset legend="Models">
          <ModelsField
            value={form.values.models}
            onChange={(models) => form.setFieldValue('models', models)}
            error={form.errors.models as string | undefined}
          />
        </Fieldset>
      )}
      <HardwareFields form={form} isNew={isNew} />
      <ScalingFields form={form} />
      <AdvancedFields fields={ENDPOINT_FIELDS} names={ADVANCED} values={form.values}>
        <ContainerDetails form={form} fields={ENDPOINT_FIELDS} />
        <PlaceFields form={form} />
        <ScalingDetails form={form} />
      </AdvancedFields>
    </FormLayout>
  );
}

const PRESETS: Preset<EndpointValues>[] = [
  {
    label: 'On demand',
    help: 'Costs nothing at rest; the first job waits for a start',
    from: ({ workers }) => ({ workers: { ...workers, min: 0 }, flashboot: 'OFF' }),
  },
  {
    label: 'Quick to wake',
    help: 'Idle workers are frozen, and wake in moments',
    from: ({ workers }) => ({ workers: { ...workers, min: 0 }, flashboot: 'FLASHBOOT' }),
  },
  {
    label: 'Always ready',
    help: 'One worker always runs, and costs',
    from: ({ workers }) => ({ workers: { ...workers, min: Math.max(1, workers.min) }, flashboot: 'OFF' }),
  },
];

const ADVANCED = [
  ...CONTAINER_DETAILS,
  ...(['registry', 'dataCenterIds', 'networkVolumes'] as const),
  ...(['scaling.type', 'scaling.queueDelay', 'scaling.requestCount', 'timeout', 'flashboot'] as const),
];

const { type, 'scaling.type': metric } = ENDPOINT_FIELDS;

/** Load balancers scale on requests. */
function TypeField({ form }: { form: Form }) {
  return (
    <Input.Wrapper label={type.label} labelElement="div" labelProps={{ id: 'endpoint-type' }}>
      <div>
        <SegmentedControl
          aria-labelledby="endpoint-type"
          data={choiceOptions(type.choices!)}
          value={form.values.type}
          onChange={(value) => {
            form.setFieldValue('type', value as EndpointValues['type']);
            form.setFieldValue('scaling.type', value === 'QUEUE' ? 'QUEUE_DELAY' : 'REQUEST_COUNT');
          }}
        />
      </div>
      <Text size="xs" c="dimmed" mt={4}>
        {form.values.type === 'QUEUE'
          ? 'Workers take jobs from a durable queue.'
          : 'HTTP requests and WebSockets go directly to a ready worker.'}
      </Text>
    </Input.Wrapper>
  );
}

function HardwareFields({ form, isNew }: { form: Form; isNew: boolean }) {
  return (
    <Fieldset legend="Hardware">
      <Stack>
        {isNew && <SegmentedField form={form} fields={ENDPOINT_FIELDS} name="hardware" />}
        {form.values.hardware === 'gpu' ? <GpuFields form={form} /> : <CpuSelection form={form} />}
      </Stack>
    </Fieldset>
  );
}

function PlaceFields({ form }: { form: Form }) {
  const dataCenters = useQuery(dataCentersQuery);
  const volumes = useQuery(volumesQuery);
  const { dataCenterIds, networkVolumes } = form.values;
  return (
    <SimpleGrid cols={{ base: 1, sm: 2 }}>
      <MultiSelect
        data={recordOptions(dataCenters.data?.dataCenters)}
        searchable
        {...inputProps({ form, fields: ENDPOINT_FIELDS, name: 'dataCenterIds' })}
        {...(dataCenterIds.length > 0 && { placeholder: '' })}
      />
      <MultiSelect
        data={volumeOptions(volumes.data?.networkVolumes)}
        {...inputProps({ form, fields: ENDPOINT_FIELDS, name: 'networkVolumes' })}
        {...(networkVolumes.length > 0 && { placeholder: '' })}
      />
    </SimpleGrid>
  );
}

/** Names of the records whose ids an endpoint has. */
function useRecordNames(): ReadonlyMap<string, string> {
  const registries = useQuery(registriesQuery).data?.registries ?? [];
  const volumes = useQuery(volumesQuery).data?.networkVolumes ?? [];
  return new Map([...registries, ...volumes].map(({ id, name }) => [id, name]));
}

function GpuFields({ form }: { form: Form }) {
  const pools = inputProps({ form, fields: ENDPOINT_FIELDS, name: 'gpu.pools' });
  return (
    <>
      <PoolPicker {...pools} error={pools.error ?? form.errors.gpu} />
      <FieldInput form={form} fields={ENDPOINT_FIELDS} name="gpu.count" />
    </>
  );
}

/** CPU flavors in order of preference. */
function CpuSelection({ form }: { form: Form }) {
  const { data } = useQuery(cpusQuery);
  const { cpu: flavors } = form.values;
  const { label, help, isRequired } = ENDPOINT_FIELDS.cpu;
  const set = (changed: CpuChoice[]) => form.setFieldValue('cpu', changed);
  return (
    <Stack gap="xs">
      {flavors.map((flavor, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a flavor has no other identity
        <Group key={index} gap="xs" align="flex-end">
          <Select
            label={index === 0 ? label : undefined}
            aria-label={`CPU flavor ${index + 1}`}
            required={isRequired && index === 0}
            flex={1}
            data={recordOptions(data?.cpus)}
            value={flavor.id === '' ? null : flavor.id}
            onChange={(id) => set(flavors.with(index, { ...flavor, id: id ?? '' }))}
          />
          <Select
            label={index === 0 ? 'vCPUs' : undefined}
            aria-label={`vCPUs of flavor ${index + 1}`}
            allowDeselect={false}
            w={110}
            data={vcpuOptions(flavor.vcpuCount)}
            value={String(flavor.vcpuCount)}
            onChange={(count) => set(flavors.with(index, { ...flavor, vcpuCount: Number(count) }))}
          />
          <Button
            variant="subtle"
            color="gray"
            disabled={flavors.length === 1}
            onClick={() => set(flavors.toSpliced(index, 1))}
            aria-label={`Remove flavor ${index + 1}`}
          >
            Remove
          </Button>
        </Group>
      ))}
      <Group>
        <Button size="xs" variant="default" onClick={() => set([...flavors, ...NEW_ENDPOINT.cpu])}>
          Add another flavor
        </Button>
        <Hint size="xs">{help}</Hint>
      </Group>
      {form.errors.cpu && <Input.Error>{form.errors.cpu}</Input.Error>}
    </Stack>
  );
}

function ScalingFields({ form }: { form: Form }) {
  const props = { form, fields: ENDPOINT_FIELDS } as const;
  return (
    <Fieldset legend="Scaling">
      <SimpleGrid cols={{ base: 1, sm: 3 }}>
        <FieldInput {...props} name="workers.min" />
        <FieldInput {...props} name="workers.max" />
        {hasIdleTimeout(form.values) && <FieldInput {...props} name="workers.idleTimeout" />}
      </SimpleGrid>
    </Fieldset>
  );
}

function ScalingDetails({ form }: { form: Form }) {
  const props = { form, fields: ENDPOINT_FIELDS } as const;
  const target = form.values.scaling.type === 'QUEUE_DELAY' ? 'scaling.queueDelay' : 'scaling.requestCount';
  return (
    <SimpleGrid cols={{ base: 1, sm: 2 }}>
      <MetricField form={form} />
      <FieldInput {...props} name={target} />
      <FieldInput {...props} name="timeout" />
      <FieldInput {...props} name="flashboot" />
    </SimpleGrid>
  );
}

/** A load balancer has the queue delay only if another client gave it that. */
function MetricField({ form }: { form: Form }) {
  const { type, scaling } = form.values;
  const isOffered = ({ value }: { value: string }) =>
    type === 'QUEUE' || value === 'REQUEST_COUNT' || value === scaling.type;
  return (
    <Select
      allowDeselect={false}
      data={choiceOptions(metric.choices!).filter(isOffered)}
      {...inputProps({ form, fields: ENDPOINT_FIELDS, name: 'scaling.type' })}
    />
  );
}
