import type { UseFormReturnType } from '@mantine/form';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { sortErrors } from './sort-errors.ts';
import { useUnsaved } from './unsaved.ts';

/**
 * Saves a form. The server's errors appear at the fields they name, also folded ones, and the first such field gets the focus;
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
      const inputs = Object.keys(fields).map((name) => form.getInputNode(name));
      for (const input of inputs) input?.closest('details')?.setAttribute('open', '');
      inputs[0]?.focus();
    },
  });
  // While it saves, the form may lead to the page of what it created.
  useUnsaved(form.isDirty() && !saving.isSuccess && !saving.isPending);
  const submit = form.onSubmit((values) => {
    setOtherErrors([]);
    saving.mutate(values);
  });
  return { submit, otherErrors, isSaving: saving.isPending };
}
