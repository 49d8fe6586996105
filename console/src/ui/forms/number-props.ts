import type { UseFormReturnType } from '@mantine/form';

/** The part of a form that a field needs, whatever the form's values are. */
export interface FieldForm {
  getInputProps: (
    name: string,
    options?: { type?: 'checkbox' },
  ) => ReturnType<UseFormReturnType<object>['getInputProps']>;
}

/** Returns the props of a number input. An empty input is 0, which the server validates like any other number. */
export function numberProps(form: FieldForm, name: string) {
  const { value, onChange, ...rest } = form.getInputProps(name);
  return {
    ...rest,
    value: value as number,
    onChange: (next: number | string) => onChange(next === '' ? 0 : Number(next)),
  };
}
