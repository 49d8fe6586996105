import { Select } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { cpusQuery } from '../../api/queries.ts';
import { type FieldForm, inputProps } from './field-input.tsx';
import type { Field } from './fields.ts';
import { recordOptions } from './select-options.ts';

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
