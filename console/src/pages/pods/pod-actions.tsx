import { Button } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from 'react-router';
import { api, unwrap } from '../../api/client.ts';
import { ConfirmDelete } from '../../ui/confirm-delete.tsx';
import { notifySuccess } from '../../ui/notify.ts';
import { enumLabel } from '../../ui/text/labels.ts';
import { Status } from '../../ui/text/status.tsx';
import { POD_STATUSES, type Pod, podActions } from './pod-details.ts';

/** A pod's status and the buttons that change it. */
export function PodActions({ pod }: { pod: Pod }) {
  const queries = useQueryClient();
  const act = useMutation({
    mutationFn: (action: 'start' | 'stop' | 'restart') =>
      unwrap(api.POST('/v2/pods/{id}/action', { params: { path: { id: pod.id } }, body: { action } })),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['pod', pod.id] }),
  });
  return (
    <>
      <Status table={POD_STATUSES} value={pod.status} />
      {podActions(pod).map(({ action, isDisabled }) => (
        <Button
          key={action}
          size="xs"
          variant="default"
          loading={act.isPending && act.variables === action}
          disabled={isDisabled}
          onClick={() => act.mutate(action)}
        >
          {enumLabel(action)}
        </Button>
      ))}
      {pod.cluster === undefined && <TerminateButton pod={pod} />}
    </>
  );
}

function TerminateButton({ pod: { id, name } }: { pod: Pod }) {
  const queries = useQueryClient();
  const navigate = useNavigate();
  const [isOpen, { open, close }] = useDisclosure(false);
  return (
    <>
      <Button size="xs" color="red" variant="light" onClick={open}>
        Terminate…
      </Button>
      <ConfirmDelete
        verb="Terminate"
        what="pod"
        name={name}
        consequence="Stops the container and deletes its persistent storage. Network volumes are kept. You can't undo this."
        isOpen={isOpen}
        onClose={close}
        onConfirm={() => unwrap(api.DELETE('/v2/pods/{id}', { params: { path: { id } } }))}
        onDone={() => {
          notifySuccess(`Terminated ${name}.`);
          void queries.invalidateQueries({ queryKey: ['pods'] });
          navigate('/pods');
        }}
      />
    </>
  );
}
