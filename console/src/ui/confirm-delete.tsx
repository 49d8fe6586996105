import { ActionIcon, Button, Group, Modal, Stack, Text, TextInput } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { IconTrash } from '@tabler/icons-react';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, type ReactNode, useState } from 'react';
import { useNavigate } from 'react-router';
import { ErrorAlert } from './error-alert.tsx';
import { notifySuccess } from './notify.ts';
import { visibleText } from './text/visible-text.ts';
import { useAsked } from './use-asked.ts';

interface ConfirmDeleteProps {
  /** The kind of record, as in “Delete endpoint”. */
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
  // Hidden characters cannot be typed.
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

type RemovalProps = Omit<ConfirmDeleteProps, 'onClose' | 'onDone'> & {
  /** The list to read again. */
  queryKey: string;
  /** The page to go to from the record's own. */
  to?: string;
};

/** Deletes a record once its name is typed. `children` is the button that asks for it. */
function Removal({ queryKey, to, children, ...props }: RemovalProps & { children: (ask: () => void) => ReactNode }) {
  const [isOpen, { open, close }] = useDisclosure(false);
  const queries = useQueryClient();
  const navigate = useNavigate();
  const { verb = 'Delete', name } = props;
  return (
    <>
      {children(open)}
      <ConfirmDelete
        {...props}
        isOpen={isOpen}
        onClose={close}
        onDone={() => {
          notifySuccess(`${verb}d ${name}.`);
          void queries.invalidateQueries({ queryKey: [queryKey] });
          if (to !== undefined) navigate(to);
        }}
      />
    </>
  );
}

/** Deletes the record of a page: one of the page's buttons, and `?do=delete`. */
export function RemoveRecord(props: RemovalProps & { to: string }) {
  return <Removal {...props}>{(ask) => <AskButton verb={props.verb ?? 'Delete'} onAsk={ask} />}</Removal>;
}

function AskButton({ verb, onAsk }: { verb: string; onAsk: () => void }) {
  useAsked('do', verb.toLowerCase(), onAsk);
  return (
    <Button variant="default" leftSection={<IconTrash size={16} aria-hidden />} onClick={onAsk}>
      {verb}…
    </Button>
  );
}

/** Deletes a record of a list. */
export function DeleteButton(props: RemovalProps) {
  return (
    <Removal {...props}>
      {(ask) => (
        <ActionIcon variant="subtle" color="gray" aria-label={visibleText(`Delete ${props.name}`)} onClick={ask}>
          <IconTrash size={16} />
        </ActionIcon>
      )}
    </Removal>
  );
}
