import { Alert, Button } from '@mantine/core';
import { messageOf } from '../api/api-error.ts';
import { visibleText } from './text/visible-text.ts';

/** A failed request, with a button to try again if the caller can. */
export function ErrorAlert({ error, retry }: { error: unknown; retry?: () => void }) {
  return (
    <Alert color="red" role="alert" title={visibleText(messageOf(error))}>
      {retry && (
        <Button size="xs" variant="light" color="red" onClick={retry}>
          Try again
        </Button>
      )}
    </Alert>
  );
}

/** The message of a failed request inside a form or a card. */
export function ErrorText({ error }: { error: unknown }) {
  return (
    <Alert color="red" role="alert">
      {messageOf(error)}
    </Alert>
  );
}

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
