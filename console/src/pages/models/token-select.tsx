import { Select, type SelectProps } from '@mantine/core';
import { useSecretNames } from './models-query.ts';

/** The secret with which a form's model is read. */
export function TokenSelect(props: Omit<SelectProps, 'data'>) {
  return (
    <Select
      label="Token"
      description="The secret with a token, for a gated or private model"
      data={useSecretNames()}
      clearable
      {...props}
      value={props.value || null} // an empty one cannot be cleared
    />
  );
}
