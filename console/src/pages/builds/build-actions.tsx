import { Button, Group } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { IconHammer } from '@tabler/icons-react';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from 'react-router';
import { api, unwrap } from '../../api/client.ts';
import { ErrorAlert } from '../../ui/error-alert.tsx';
import { notifySuccess } from '../../ui/notify.ts';
import { type Build, hasEnded, refusalText } from './build-values.ts';

/** Cancels a build, or repeats one that has ended. */
export function useBuildActions({ id }: Build) {
  const queries = useQueryClient();
  const navigate = useNavigate();
  const params = { path: { id } };
  const refresh = () => void queries.invalidateQueries({ queryKey: ['builds'] });
  const cancellation = useMutation({
    meta: { isShownInPlace: true },
    mutationFn: () => unwrap(api.POST('/v2/builds/{id}/cancel', { params })),
    onSettled: () => {
      refresh();
      void queries.invalidateQueries({ queryKey: ['build', id] });
    },
  });
  const repetition = useMutation({
    meta: { isShownInPlace: true },
    mutationFn: () => unwrap(api.POST('/v2/builds/{id}/retry', { params })),
    onSuccess: (build) => {
      refresh();
      notifySuccess('Queued as a new build.');
      navigate(`/builds/${build.id}`);
    },
  });
  return { cancellation, repetition };
}

type Actions = ReturnType<typeof useBuildActions>;

/** `isHindered`: this installation builds nothing now. */
export function BuildActions(props: { build: Build; actions: Actions; isHindered: boolean }) {
  const { build, actions, isHindered } = props;
  const { cancellation, repetition } = actions;
  if (!hasEnded(build)) return <CancelButton cancellation={cancellation} />;
  return (
    <Group>
      <Button
        variant={build.status === 'COMPLETED' ? 'default' : 'filled'}
        leftSection={<IconHammer size={16} aria-hidden />}
        disabled={isHindered}
        loading={repetition.isPending}
        onClick={() => repetition.mutate()}
      >
        Build again
      </Button>
    </Group>
  );
}

/** Why a cancellation or a repetition was refused. */
export function BuildActionError({ actions: { cancellation, repetition } }: { actions: Actions }) {
  const error = cancellation.error ?? repetition.error;
  return error ? <ErrorAlert error={refusalText(error)} /> : null;
}

/** Cancelling asks for a second click: it cannot be undone. A build that runs ends a moment later. */
function CancelButton({ cancellation }: Pick<Actions, 'cancellation'>) {
  const [isSure, { open: ask, close }] = useDisclosure(false);
  if (cancellation.isSuccess) {
    return (
      <Button variant="default" disabled>
        Cancelling…
      </Button>
    );
  }
  const cancel = () => cancellation.mutate(undefined, { onSettled: close });
  return (
    <Button
      color="red.9"
      variant={isSure ? 'filled' : 'default'}
      loading={cancellation.isPending}
      onClick={isSure ? cancel : ask}
    >
      {isSure ? 'Cancel it for good' : 'Cancel build'}
    </Button>
  );
}
