import { Button } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { api, unwrap } from '../../api/client.ts';
import { notifyError, notifySuccess } from '../../ui/notify.ts';
import type { Destination } from './notice-values.ts';

/** Sends a test, and shows what the receiver answered. */
export function SendTest({ destination: { id, name } }: { destination: Destination }) {
  const queries = useQueryClient();
  const test = useMutation({
    mutationFn: () => unwrap(api.POST('/v2/account/notices/{id}/test', { params: { path: { id } } })),
    onSuccess: ({ error }) => {
      if (error === null) notifySuccess(`${name} accepted the test.`);
      else notifyError(new Error(`The test did not arrive: ${error}`));
    },
    onError: notifyError,
    onSettled: () => queries.invalidateQueries({ queryKey: ['notices'] }),
  });
  return (
    <Button variant="default" size="compact-sm" loading={test.isPending} onClick={() => test.mutate()}>
      Send a test
    </Button>
  );
}
