import { Badge, Box, Stack, UnstyledButton } from '@mantine/core';
import type { UseFormReturnType } from '@mantine/form';
import type { ReactNode } from 'react';
import { Hint } from '../hint.tsx';
import { formatNumber } from '../text/format.ts';
import { countSet } from './changes.ts';
import type { Field } from './fields.ts';

/** A choice that fills several fields. */
export interface Preset<Values> {
  label: string;
  help: string;
  /** The values that it sets, whole. */
  from: (values: Values) => Partial<Values>;
}

/** Presets as buttons; pressed is the one whose values the form has. */
export function Presets<Values extends object>(props: {
  form: UseFormReturnType<Values>;
  presets: readonly Preset<Values>[];
}) {
  const { form, presets } = props;
  return (
    <Box className="presets" role="group" aria-label="Presets">
      {presets.map(({ label, help, from }) => (
        <UnstyledButton
          key={label}
          className="preset"
          aria-pressed={hasAll(form.values, from(form.values))}
          onClick={() => form.setValues((values) => from(values as Values))}
        >
          {label}
          <Hint size="xs">{help}</Hint>
        </UnstyledButton>
      ))}
    </Box>
  );
}

function hasAll<Values extends object>(values: Values, some: Partial<Values>): boolean {
  const names = Object.keys(some) as (keyof Values)[];
  return names.every((name) => JSON.stringify(values[name]) === JSON.stringify(some[name]));
}

/** Fields that most people leave as they are, folded, with how many of them are set. A field with an error opens it (useSave). */
export function AdvancedFields(props: {
  fields: Readonly<Record<string, Field>>;
  names: readonly string[];
  values: object;
  children: ReactNode;
}) {
  const count = countSet(props.fields, props.names, props.values);
  return (
    <details className="form-advanced">
      <summary>
        Advanced{' '}
        {count > 0 && (
          <Badge variant="light" tt="none" ml={4}>
            {formatNumber(count)} set
          </Badge>
        )}
      </summary>
      <Stack>{props.children}</Stack>
    </details>
  );
}
