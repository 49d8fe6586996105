import { ActionIcon, Alert, Button, Group, Modal, Stack } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useDisclosure } from '@mantine/hooks';
import { IconPlus, IconTrash } from '@tabler/icons-react';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { ConfirmDelete } from './confirm-delete.tsx';
import { showDone } from './notify.ts';
import { sortRefusal } from './server-errors.ts';

type Form<Values extends Record<string, unknown>> = ReturnType<typeof useForm<Values>>;

/** A button that opens a form in a dialog; the server's refusals appear at the fields. */
export function FormButton<Values extends Record<string, unknown>>(props: {
  label: string;
  title: string;
  initial: Values;
  queryKey: string;
  submitLabel?: string;
  variant?: 'filled' | 'default' | 'subtle';
  size?: string;
  onSubmit: (values: Values) => Promise<unknown>;
  children: (form: Form<Values>) => ReactNode;
}) {
  const [isOpen, { open, close }] = useDisclosure(false);
  const [top, setTop] = useState<readonly string[]>([]);
  const queries = useQueryClient();
  const form = useForm<Values>({ mode: 'controlled', initialValues: props.initial });
  const saving = useMutation({
    meta: { isShownInPlace: true },
    mutationFn: props.onSubmit,
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: [props.queryKey] });
      finish();
    },
    onError: (error) => {
      const refusal = sortRefusal(error, Object.keys(props.initial));
      form.setErrors(refusal.fields);
      setTop(refusal.rest);
    },
  });
  function finish() {
    form.reset();
    setTop([]);
    close();
  }
  return (
    <>
      <Button
        onClick={() => {
          form.setInitialValues(props.initial);
          form.reset();
          open();
        }}
        variant={props.variant ?? 'filled'}
        size={props.size ?? 'sm'}
        {...(props.variant ? {} : { leftSection: <IconPlus size={16} aria-hidden /> })}
      >
        {props.label}
      </Button>
      <Modal opened={isOpen} onClose={finish} title={props.title} size="lg">
        <form
          noValidate
          onSubmit={form.onSubmit((values) => {
            setTop([]);
            saving.mutate(values);
          })}
        >
          <Stack>
            {top.length > 0 && (
              <Alert color="red" role="alert">
                {top.map((line) => (
                  <div key={line}>{line}</div>
                ))}
              </Alert>
            )}
            {props.children(form)}
            <Group justify="flex-end">
              <Button variant="default" onClick={finish}>
                Cancel
              </Button>
              <Button type="submit" loading={saving.isPending}>
                {props.submitLabel ?? 'Create'}
              </Button>
            </Group>
          </Stack>
        </form>
      </Modal>
    </>
  );
}

/** Deletes one record of a list, after its name was typed. */
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
      <ActionIcon variant="subtle" color="gray" aria-label={`Delete ${props.name}`} onClick={open}>
        <IconTrash size={16} />
      </ActionIcon>
      <ConfirmDelete
        {...props}
        isOpen={isOpen}
        onClose={close}
        onDone={() => {
          showDone(`${props.name} is deleted.`);
          void queries.invalidateQueries({ queryKey: [props.queryKey] });
        }}
      />
    </>
  );
}
