import { Alert, Checkbox, Group, MultiSelect, Select, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { cpusQuery, gpuCapacityQuery, gpusQuery } from '../../api/catalog-queries.ts';
import { Hint } from '../../ui/hint.tsx';
import { type FieldForm, inputProps } from './field-input.tsx';
import { type Field, recordOptions } from './fields.ts';
import { absenceText, type GpuChoice, gpuChoices, hereText, isHere, poolChoices } from './gpu-choices.ts';

interface PickerProps<Value> {
  label: string;
  description: string | undefined;
  required: true | undefined;
  value: Value;
  onChange: (value: Value) => void;
  error?: ReactNode;
}

/** GPU pools in order of preference, with what is here and free. */
export function PoolPicker(props: PickerProps<string[]>) {
  const { value } = props;
  const { data } = useQuery(gpusQuery);
  const capacity = useQuery(gpuCapacityQuery);
  const choices = poolChoices(data?.gpus, capacity.data?.gpus);
  const offer = useOffer(choices, value);
  return (
    <Stack gap="xs">
      <MultiSelect
        {...props}
        searchable
        nothingFoundMessage={offer.nothingFound}
        data={offer.groups}
        renderOption={({ option }) => <Choice choice={offer.choiceOf(option.value)} />}
      />
      {offer.more}
      <Absence text={absenceText(choices, value, 'Workers')} />
    </Stack>
  );
}

/** One GPU type of a pod, with what is here and free. */
export function GpuPicker({ value, onChange, ...props }: PickerProps<string>) {
  const { data } = useQuery(gpusQuery);
  const capacity = useQuery(gpuCapacityQuery);
  const choices = gpuChoices(data?.gpus, capacity.data?.gpus);
  const offer = useOffer(choices, value === '' ? [] : [value]);
  return (
    <Stack gap="xs">
      <Select
        {...props}
        searchable
        nothingFoundMessage={offer.nothingFound}
        data={offer.groups}
        renderOption={({ option }) => <Choice choice={offer.choiceOf(option.value)} />}
        value={value === '' ? null : value}
        onChange={(id) => onChange(id ?? '')}
      />
      {offer.more}
      <Absence text={absenceText(choices, value === '' ? [] : [value], 'It')} />
    </Stack>
  );
}

/** Returns the choices that are offered: those on this installation, the others only on demand, and always the chosen ones. */
function useOffer(choices: readonly GpuChoice[], chosen: readonly string[]) {
  const [isAll, setAll] = useState(false);
  const here = choices.filter(isHere);
  const absent = choices.filter((choice) => !isHere(choice));
  const shown = isAll ? absent : absent.filter(({ value }) => chosen.includes(value));
  const groups = [
    { group: 'On this installation', items: [...here] },
    { group: 'Not on this installation', items: shown },
  ].filter(({ items }) => items.length > 0);
  return {
    groups,
    choiceOf: (value: string) => choices.find((choice) => choice.value === value)!,
    nothingFound: here.length === 0 ? 'This installation has no GPUs.' : 'No such GPU.',
    more: absent.length > 0 && (
      <Checkbox
        size="xs"
        label={
          here.length === 0
            ? 'This installation has no GPUs. Show those that could be added.'
            : `Show ${absent.length} more that are not on this installation`
        }
        checked={isAll}
        onChange={({ currentTarget }) => setAll(currentTarget.checked)}
      />
    ),
  };
}

function Choice({ choice }: { choice: GpuChoice }) {
  return (
    <Group justify="space-between" gap="sm" wrap="nowrap" flex={1}>
      <div>
        <Text size="sm">{choice.label}</Text>
        <Hint size="xs">{choice.details}</Hint>
      </div>
      <Text size="xs" c="dimmed" className="figure" ta="right">
        {hereText(choice)}
      </Text>
    </Group>
  );
}

function Absence({ text }: { text: string | null }) {
  if (text === null) return null;
  return (
    <Alert color="orange" role="status" p="xs">
      {text}
    </Alert>
  );
}

const VCPU_COUNTS = [2, 4, 8, 16, 32].map(String);

/** The counts that can be chosen. One vCPU, which another client can give, is kept. */
export function vcpuOptions(current: number): string[] {
  const value = String(current);
  return VCPU_COUNTS.includes(value) ? VCPU_COUNTS : [value, ...VCPU_COUNTS];
}

/** The CPU flavor of a pod, and how many vCPUs of it. */
export function CpuFields(props: { form: FieldForm; fields: Record<'cpu.id' | 'cpu.vcpuCount', Field> }) {
  const { data } = useQuery(cpusQuery);
  const { value, onChange, ...count } = inputProps({ ...props, name: 'cpu.vcpuCount' });
  return (
    <>
      <Select data={recordOptions(data?.cpus)} {...inputProps({ ...props, name: 'cpu.id' })} />
      <Select
        {...count}
        allowDeselect={false}
        data={vcpuOptions(value)}
        value={String(value)}
        onChange={(next) => onChange(Number(next))}
      />
    </>
  );
}
