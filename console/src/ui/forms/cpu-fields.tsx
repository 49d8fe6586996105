import { Select } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { cpusQuery } from '../../api/queries.ts';
import { type FieldForm, numberProps } from './number-props.ts';
import { recordOptions } from './select-options.ts';

export const VCPU_COUNTS = [2, 4, 8, 16, 32].map(String);
/** An endpoint that another client gave one vCPU keeps it. */
const countsWith = (value: string) => (VCPU_COUNTS.includes(value) ? VCPU_COUNTS : [value, ...VCPU_COUNTS]);

/** The CPU flavor of an endpoint or a pod, and how many vCPUs of it. */
export function CpuFields({ form }: { form: FieldForm }) {
  const { data } = useQuery(cpusQuery);
  const { value, onChange, error } = numberProps(form, 'cpu.vcpuCount');
  return (
    <>
      <Select label="CPU" required data={recordOptions(data?.cpus)} {...form.getInputProps('cpu.id')} />
      <Select
        label="vCPUs"
        allowDeselect={false}
        data={countsWith(String(value))}
        value={String(value)}
        onChange={(count) => onChange(Number(count))}
        error={error}
      />
    </>
  );
}
