import { Alert } from '@mantine/core';
import { visibleText } from '../text/visible-text.ts';

/** The errors of a save that no field of the form can show. */
export function FormAlert({ errors }: { errors: readonly string[] }) {
  if (errors.length === 0) return null;
  return (
    <Alert color="red" role="alert">
      {errors.map((error) => (
        <div key={error}>{visibleText(error)}</div>
      ))}
    </Alert>
  );
}
