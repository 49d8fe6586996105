import { Button, Group, Modal, NumberInput, Stack, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { IconPlayerPause, IconPlayerPlay } from '@tabler/icons-react';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { api, unwrap } from '../../api/client.ts';
import { ErrorAlert } from '../../ui/error-alert.tsx';
import { notifySuccess } from '../../ui/notify.ts';
import { useAsked } from '../../ui/use-asked.ts';
import { type Endpoint, NEW_ENDPOINT } from './settings/endpoint-values.ts';

/** Sets max workers to 0, or raises it again. Asks first. */
export function PauseButton({ endpoint }: { endpoint: Endpoint }) {
  const [isOpen, { open, close }] = useDisclosure(false);
  const isPaused = endpoint.workers.max === 0;
  useAsked('do', 'pause', () => !isPaused && open());
  useAsked('do', 'resume', () => isPaused && open());
  return (
    <>
      <Button
        variant="default"
        leftSection={isPaused ? <IconPlayerPlay size={16} aria-hidden /> : <IconPlayerPause size={16} aria-hidden />}
        onClick={open}
      >
        {isPaused ? 'Resume…' : 'Pause…'}
      </Button>
      <Modal opened={isOpen} onClose={close} title={isPaused ? 'Resume endpoint' : 'Pause endpoint'} centered>
        <Question endpoint={endpoint} isPaused={isPaused} onClose={close} />
      </Modal>
    </>
  );
}

/** Mounted with the dialog, so that each opening starts anew. */
function Question(props: { endpoint: Endpoint; isPaused: boolean; onClose: () => void }) {
  const { endpoint, isPaused, onClose } = props;
  const [max, setMax] = useState<number | string>(NEW_ENDPOINT.workers.max);
  const queries = useQueryClient();
  const { id, name } = endpoint;
  const change = useMutation({
    meta: { isShownInPlace: true },
    mutationFn: (workers: { min?: number; max: number }) =>
      unwrap(api.PATCH('/v2/serverless/{id}', { params: { path: { id } }, body: { workers } })),
    onSuccess: (updated) => {
      queries.setQueryData(['endpoint', id], updated);
      notifySuccess(isPaused ? `Resumed ${name}.` : `Paused ${name}.`);
      onClose();
    },
  });
  function submit(event: FormEvent) {
    event.preventDefault();
    change.mutate(isPaused ? { max: Number(max) } : { min: 0, max: 0 });
  }
  return (
    <form onSubmit={submit}>
      <Stack>
        {isPaused ? (
          <NumberInput label="Max workers" min={1} value={max} onChange={setMax} data-autofocus />
        ) : (
          <Text size="sm">
            Its workers finish what they hold and stop. Jobs stay queued until you resume it; min and max workers are
            then 0.
          </Text>
        )}
        {change.error && <ErrorAlert error={change.error} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button type="submit" loading={change.isPending} disabled={isPaused && !(Number(max) >= 1)}>
            {isPaused ? 'Resume' : 'Pause'}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
