import type { UseFormReturnType } from '@mantine/form';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { sortErrors } from './sort-errors.ts';

/**
 * Saves a form. The server's errors appear at the fields they name, and the first such field gets the focus;
 * `otherErrors` are for a FormAlert above the submit button. `fields` are the names that the server may use, a part
 * before its whole.
 */
export function useSave<Values, Saved>(
  form: UseFormReturnType<Values>,
  options: {
    fields: readonly string[];
    save: (values: Values) => Promise<Saved>;
    onSaved?: (saved: Saved) => unknown;
  },
) {
  const [otherErrors, setOtherErrors] = useState<readonly string[]>([]);
  const saving = useMutation({
    meta: { isShownInPlace: true },
    mutationFn: options.save,
    onSuccess: options.onSaved,
    onError: (error) => {
      const { fields, other } = sortErrors(error, options.fields);
      form.setErrors(fields);
      setOtherErrors(other);
      const [first] = Object.keys(fields);
      if (first !== undefined) form.getInputNode(first)?.focus();
    },
  });
  const submit = form.onSubmit((values) => {
    setOtherErrors([]);
    saving.mutate(values);
  });
  return { submit, otherErrors, isSaving: saving.isPending };
}
