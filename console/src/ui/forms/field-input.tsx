import { Checkbox, NumberInput, SegmentedControl, Select, TagsInput, TextInput } from '@mantine/core';
import type { UseFormReturnType } from '@mantine/form';
import type { ReactNode } from 'react';
import { choiceOptions, type Field } from './fields.ts';

/** The part of a form that a field needs, whatever the form's values are. */
export interface FieldForm {
  getInputProps: (
    name: string,
    options?: { type?: 'checkbox' },
  ) => ReturnType<UseFormReturnType<object>['getInputProps']>;
}

interface FieldProps<Name extends string> {
  form: FieldForm;
  fields: Readonly<Record<Name, Field>>;
  name: NoInfer<Name>;
}

/** Returns the props that every kind of input has: words, value and error. */
export function inputProps<Name extends string>({ form, fields, name }: FieldProps<Name>) {
  const { label, help, placeholder, isRequired } = fields[name];
  const { value, ...handlers } = form.getInputProps(name);
  return { label, description: help, placeholder, required: isRequired, value, ...handlers };
}

/** The input of one field: a choice, a number, a box to check, a text or several texts. `error` replaces the field's. */
export function FieldInput<Name extends string>(props: FieldProps<Name> & { error?: ReactNode; autoFocus?: true }) {
  const { form, fields, name, error, autoFocus } = props;
  const { choices, initial } = fields[name];
  const input = {
    ...inputProps({ form, fields, name }),
    ...(error !== undefined && { error }),
    ...(autoFocus && { 'data-autofocus': true }),
  };
  if (choices) return <Select allowDeselect={false} data={choiceOptions(choices)} {...input} />;
  if (typeof initial === 'number')
    return <NumberInput {...numberLimits(fields[name])} {...input} {...asNumber(input)} />;
  if (typeof initial === 'string') return <TextInput {...input} />;
  if (Array.isArray(initial)) return <TagsInput {...input} />;
  const { label, description } = input;
  return <Checkbox label={label} description={description} {...form.getInputProps(name, { type: 'checkbox' })} />;
}

function numberLimits({ unit, min, max, step = 1, thousandSeparator }: Field) {
  const suffix = unit === undefined ? undefined : ` ${unit}`;
  return { suffix, min, max, step, thousandSeparator, allowDecimal: !Number.isInteger(step) };
}

/** An empty input is 0, which the server validates like any other number. */
function asNumber({ value, onChange }: ReturnType<typeof inputProps>) {
  return { value: value as number, onChange: (next: number | string) => onChange(next === '' ? 0 : Number(next)) };
}

/** A field with few choices, all of which are shown. */
export function SegmentedField<Name extends string>({ form, fields, name }: FieldProps<Name>) {
  const { label, choices = {} } = fields[name];
  return (
    <SegmentedControl w="fit-content" aria-label={label} data={choiceOptions(choices)} {...form.getInputProps(name)} />
  );
}
