import { Alert, Button, Group, Text } from '@mantine/core';
import type { UseFormReturnType } from '@mantine/form';
import { useEffect, useState } from 'react';
import { dropDraft, readDraft, writeDraft } from './draft.ts';
import { onDiscard } from './unsaved.ts';

/**
 * Keeps the unsaved changes of a form under `key` until they are saved or discarded. Returns a note for the top of the form, which
 * says that changes were restored, and what to call once they are saved.
 */
export function useDraft<Values extends object>(form: UseFormReturnType<Values>, key: string, initial: Values) {
  const [isRestored, setRestored] = useState(false);
  // biome-ignore lint/correctness/useExhaustiveDependencies: once, when the form appears
  useEffect(() => {
    const kept = readDraft(sessionStorage, key, initial);
    if (kept === null) return;
    form.setValues(kept);
    setRestored(true);
  }, []);
  const isDirty = form.isDirty();
  const text = JSON.stringify(form.getValues());
  // Written at once: a reload does not wait.
  // biome-ignore lint/correctness/useExhaustiveDependencies: `text` stands for the values
  useEffect(() => {
    if (isDirty) writeDraft(sessionStorage, key, initial, form.getValues());
  }, [text, isDirty]);
  const drop = () => {
    dropDraft(sessionStorage, key);
    setRestored(false);
  };
  const discard = () => {
    form.setValues(initial);
    form.resetDirty(initial);
    drop();
  };
  // biome-ignore lint/correctness/useExhaustiveDependencies: `discard` is of the last render
  useEffect(() => (isDirty ? onDiscard(drop) : undefined), [isDirty]);
  const note = isRestored && isDirty && (
    <Alert color="blue" role="status" p="xs">
      <Group justify="space-between" gap="xs">
        <Text size="sm">Your unsaved changes are back. Secrets and values of environment variables are not kept.</Text>
        <Button size="compact-xs" variant="default" onClick={discard}>
          Discard
        </Button>
      </Group>
    </Alert>
  );
  return { note, drop };
}
