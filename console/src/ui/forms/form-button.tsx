import { Button, Group, Modal, Stack, Text } from '@mantine/core';
import { type UseFormReturnType, useForm } from '@mantine/form';
import { useDisclosure } from '@mantine/hooks';
import { IconPlus } from '@tabler/icons-react';
import { useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useRef, useState } from 'react';
import { visibleText } from '../text/visible-text.ts';
import { useAsked } from '../use-asked.ts';
import { FormLayout } from './form-layout.tsx';
import { Summary, type SummaryText } from './summary.tsx';
import { useDraft } from './use-draft.tsx';
import { useSave } from './use-save.ts';

interface RecordFormProps<Values extends object> {
  initial: Values;
  /** The list to read again after a save. */
  queryKey: string;
  /** The id of the record that is changed: unsaved changes are kept by it. */
  recordId?: string;
  submitLabel?: string;
  /** Nothing to submit while the values are the initial ones. */
  needsChange?: boolean;
  /** Shown beside the fields: the price and the effect of the values. */
  summary?: (values: Values) => SummaryText;
  onSubmit: (values: Values) => Promise<unknown>;
  children: (form: UseFormReturnType<Values>) => ReactNode;
}

/**
 * A button that opens a form in a dialog: primary for a new record, plain beside that, small for a row of a list. `?new` in the
 * URL opens the first primary one of a page too, or a plain one that `isAskedFor`. Unsaved changes are kept as those of pages, and closing the dialog asks.
 */
export function FormButton<Values extends object>({
  label,
  title,
  isInRow = false,
  isPlain = false,
  isAskedFor = !isInRow && !isPlain,
  ...form
}: RecordFormProps<Values> & {
  label: string;
  title: string;
  isInRow?: boolean;
  isPlain?: boolean;
  isAskedFor?: boolean;
}) {
  const [isOpen, { open, close }] = useDisclosure(false);
  useAsked('new', isAskedFor ? '' : null, open);
  const ask = useRef(close);
  const look = isInRow
    ? { variant: 'default', size: 'compact-sm' }
    : isPlain
      ? { variant: 'default', size: 'sm' }
      : { size: 'sm', leftSection: <IconPlus size={16} aria-hidden /> };
  return (
    <>
      <Button onClick={open} {...look}>
        {label}
      </Button>
      <Modal
        opened={isOpen}
        onClose={() => ask.current()}
        title={visibleText(title)}
        size={form.summary ? 'min(60rem, 94vw)' : 'lg'}
      >
        <RecordForm
          {...form}
          draftKey={[form.queryKey, form.recordId ?? 'new', title].join('/')}
          onClose={close}
          ask={ask}
        />
      </Modal>
    </>
  );
}

interface DialogProps {
  draftKey: string;
  onClose: () => void;
  /** Set to what closes the dialog, or asks first. */
  ask: { current: () => void };
}

/** Mounted with the dialog, so that each opening starts from the initial values or from what was kept. */
function RecordForm<Values extends object>(props: RecordFormProps<Values> & DialogProps) {
  const { initial, summary, onClose } = props;
  const queries = useQueryClient();
  const form = useForm<Values>({ mode: 'controlled', initialValues: initial });
  const draft = useDraft(form, props.draftKey, initial);
  const [isAsking, setAsking] = useState(false);
  const { submit, otherErrors, isSaving } = useSave(form, {
    fields: Object.keys(initial),
    save: props.onSubmit,
    onSaved: async () => {
      draft.drop();
      await queries.invalidateQueries({ queryKey: [props.queryKey] });
      onClose();
    },
  });
  props.ask.current = form.isDirty() && !isSaving ? () => setAsking(true) : onClose;
  const discard = () => {
    draft.drop();
    onClose();
  };
  if (isAsking) return <LeaveDialog onStay={() => setAsking(false)} onDiscard={discard} onKeep={onClose} />;
  return (
    <FormLayout
      onSubmit={submit}
      note={draft.note}
      summary={summary && <Summary text={summary(form.values)} />}
      errors={otherErrors}
      actions={
        <>
          <Button variant="default" onClick={() => props.ask.current()}>
            Cancel
          </Button>
          <Button type="submit" loading={isSaving} disabled={props.needsChange && !form.isDirty()}>
            {props.submitLabel ?? 'Create'}
          </Button>
        </>
      }
    >
      {props.children(form)}
    </FormLayout>
  );
}

/** In place of the fields, which come back as they were. In the words of the question before a page is left. */
function LeaveDialog(props: { onStay: () => void; onDiscard: () => void; onKeep: () => void }) {
  return (
    <Stack role="alert">
      <Text fw={600}>Leave with unsaved changes?</Text>
      <Text size="sm">They are not saved. What you keep is there when you open this again in this tab.</Text>
      <Group justify="flex-end" gap="xs">
        <Button variant="default" onClick={props.onStay} autoFocus>
          Stay
        </Button>
        <Button variant="default" color="red" onClick={props.onDiscard}>
          Discard
        </Button>
        <Button onClick={props.onKeep}>Keep and leave</Button>
      </Group>
    </Stack>
  );
}
