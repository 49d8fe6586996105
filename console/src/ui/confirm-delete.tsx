import { Button, Group, Modal, Stack, Text, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { Refusal } from './page.tsx';

/** What cannot be undone is confirmed by typing the name of what goes. */
export function ConfirmDelete(props: {
  what: string;
  name: string;
  consequence: string;
  isOpen: boolean;
  onClose: () => void;
  onConfirm: () => Promise<unknown>;
  onDone?: () => void;
}) {
  const [typed, setTyped] = useState('');
  const deletion = useMutation({
    meta: { isShownInPlace: true },
    mutationFn: props.onConfirm,
    onSuccess: () => {
      close();
      props.onDone?.();
    },
  });
  function close() {
    setTyped('');
    deletion.reset();
    props.onClose();
  }
  function submit(event: FormEvent) {
    event.preventDefault();
    if (typed === props.name) deletion.mutate();
  }
  return (
    <Modal opened={props.isOpen} onClose={close} title={`Delete ${props.what}`} centered>
      <form onSubmit={submit}>
        <Stack>
          <Text size="sm">{props.consequence}</Text>
          <TextInput
            label={`Type “${props.name}” to confirm`}
            value={typed}
            onChange={(event) => setTyped(event.currentTarget.value)}
            autoComplete="off"
            data-autofocus
          />
          {deletion.error && <Refusal error={deletion.error} />}
          <Group justify="flex-end">
            <Button variant="default" onClick={close}>
              Keep it
            </Button>
            <Button type="submit" color="red" disabled={typed !== props.name} loading={deletion.isPending}>
              Delete
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}
