import { ActionIcon } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { IconTrash } from '@tabler/icons-react';
import { useQueryClient } from '@tanstack/react-query';
import { ConfirmDelete } from './confirm-delete.tsx';
import { notifySuccess } from './notify.ts';
import { visibleText } from './text/visible-text.ts';

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
