import type { UseFormReturnType } from '@mantine/form';

/** What a field needs of whatever form it stands in. */
export interface FieldForm {
  getInputProps: (name: string) => ReturnType<UseFormReturnType<object>['getInputProps']>;
}

/** The props of a number input; an empty one is 0, which the server judges like any other number. */
export function numberProps(form: FieldForm, name: string) {
  const { value, onChange, ...rest } = form.getInputProps(name);
  return {
    ...rest,
    value: value as number,
    onChange: (next: number | string) => onChange(next === '' ? 0 : Number(next)),
  };
}
