import { ActionIcon, Button, Group, Modal, Stack, Text, TextInput } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { IconTrash } from '@tabler/icons-react';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, type ReactNode, useState } from 'react';
import { ErrorAlert } from './error-alert.tsx';
import { notifySuccess } from './notify.ts';
import { visibleText } from './text/visible-text.ts';

interface ConfirmDeleteProps {
  /** What is deleted, as in “Delete endpoint”. */
  what: string;
  name: string;
  /** A sentence, or what else is to be read or chosen before. */
  consequence: ReactNode;
  /** The verb of the title and the button. */
  verb?: 'Delete' | 'Terminate';
  onClose: () => void;
  onConfirm: () => Promise<unknown>;
  onDone: () => void;
}

/** A dialog that asks for the record's name, because a deletion cannot be undone. */
export function ConfirmDelete({ isOpen, ...props }: ConfirmDeleteProps & { isOpen: boolean }) {
  const { what, verb = 'Delete', onClose } = props;
  return (
    <Modal opened={isOpen} onClose={onClose} title={`${verb} ${what}`} centered>
      <ConfirmForm {...props} />
    </Modal>
  );
}

/** Mounted with the dialog, so that each opening starts empty. */
function ConfirmForm({ name, consequence, verb = 'Delete', onClose, onConfirm, onDone }: ConfirmDeleteProps) {
  const [typed, setTyped] = useState('');
  const deletion = useMutation({
    meta: { isShownInPlace: true },
    mutationFn: onConfirm,
    onSuccess: () => {
      onClose();
      onDone();
    },
  });
  // Nobody can type a hidden character.
  const shown = visibleText(name);
  const isConfirmed = typed === name || typed === shown;
  function submit(event: FormEvent) {
    event.preventDefault();
    if (isConfirmed) deletion.mutate();
  }
  return (
    <form onSubmit={submit}>
      <Stack>
        {typeof consequence === 'string' ? <Text size="sm">{visibleText(consequence)}</Text> : consequence}
        <TextInput
          label={`Type “${shown}” to confirm`}
          value={typed}
          onChange={(event) => setTyped(event.currentTarget.value)}
          autoComplete="off"
          data-autofocus
        />
        {deletion.error && <ErrorAlert error={deletion.error} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button type="submit" color="red.9" disabled={!isConfirmed} loading={deletion.isPending}>
            {verb}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

/** Deletes a record of a list once its name is typed, then reads the list again. */
export function DeleteButton(props: {
  what: string;
  name: string;
  consequence: string;
  queryKey: string;
  onConfirm: () => Promise<unknown>;
}) {
  const [isOpen, { open, close }] = useDisclosure(false);
  const queries = useQueryClient();
  return (
    <>
      <ActionIcon variant="subtle" color="gray" aria-label={visibleText(`Delete ${props.name}`)} onClick={open}>
        <IconTrash size={16} />
      </ActionIcon>
      <ConfirmDelete
        {...props}
        isOpen={isOpen}
        onClose={close}
        onDone={() => {
          notifySuccess(`Deleted ${props.name}.`);
          void queries.invalidateQueries({ queryKey: [props.queryKey] });
        }}
      />
    </>
  );
}
