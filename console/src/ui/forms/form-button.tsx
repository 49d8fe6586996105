import { Button, Group, Modal, Stack } from '@mantine/core';
import { type UseFormReturnType, useForm } from '@mantine/form';
import { useDisclosure } from '@mantine/hooks';
import { IconPlus } from '@tabler/icons-react';
import { useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useEffect } from 'react';
import { useLocation, useSearchParams } from 'react-router';
import { FormAlert } from '../error-alert.tsx';
import { visibleText } from '../text/visible-text.ts';
import { useSave } from './use-save.ts';

interface RecordFormProps<Values extends object> {
  initial: Values;
  /** The list to read again after a save. */
  queryKey: string;
  submitLabel?: string;
  onSubmit: (values: Values) => Promise<unknown>;
  children: (form: UseFormReturnType<Values>) => ReactNode;
}

/**
 * A button that opens a form in a dialog: primary for a new record, small for a row of a list. `?new` in the URL
 * opens the first primary one of a page too.
 */
export function FormButton<Values extends object>({
  label,
  title,
  isInRow = false,
  ...form
}: RecordFormProps<Values> & { label: string; title: string; isInRow?: boolean }) {
  const [isOpen, { open, close }] = useDisclosure(false);
  useOpenByLink(!isInRow, open);
  const look = isInRow
    ? { variant: 'default', size: 'compact-sm' }
    : { size: 'sm', leftSection: <IconPlus size={16} aria-hidden /> };
  return (
    <>
      <Button onClick={open} {...look}>
        {label}
      </Button>
      <Modal opened={isOpen} onClose={close} title={visibleText(title)} size="lg">
        <RecordForm {...form} onClose={close} />
      </Modal>
    </>
  );
}

/** The link that opened a dialog: a page may have the same button twice. */
let followedKey: string | null = null;

/** Opens the dialog if the URL says so, and takes that from the URL: going back does not open it again. */
function useOpenByLink(isLinked: boolean, open: () => void): void {
  const [params, setParams] = useSearchParams();
  const { key } = useLocation();
  const isWanted = isLinked && params.has('new');
  useEffect(() => {
    if (!isWanted || followedKey === key) return;
    followedKey = key;
    open();
    setParams(
      (now) => {
        const next = new URLSearchParams(now);
        next.delete('new');
        return next;
      },
      { replace: true },
    );
  }, [isWanted, key, open, setParams]);
}

/** Mounted with the dialog, so that each opening starts from the initial values. */
function RecordForm<Values extends object>(props: RecordFormProps<Values> & { onClose: () => void }) {
  const queries = useQueryClient();
  const form = useForm<Values>({ mode: 'controlled', initialValues: props.initial });
  const { submit, otherErrors, isSaving } = useSave(form, {
    fields: Object.keys(props.initial),
    save: props.onSubmit,
    onSaved: async () => {
      await queries.invalidateQueries({ queryKey: [props.queryKey] });
      props.onClose();
    },
  });
  return (
    <form noValidate onSubmit={submit}>
      <Stack>
        {props.children(form)}
        <FormAlert errors={otherErrors} />
        <Group justify="flex-end">
          <Button variant="default" onClick={props.onClose}>
            Cancel
          </Button>
          <Button type="submit" loading={isSaving}>
            {props.submitLabel ?? 'Create'}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
