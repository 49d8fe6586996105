import { Switch } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { api, unwrap } from '../../api/client.ts';
import { ErrorAlert } from '../../ui/error-alert.tsx';

/** Makes the HTTP ports of a pod private or public. */
export function PodAccess({ id }: { id: string }) {
  const queries = useQueryClient();
  const queryKey = ['pod-access', id];
  const params = { path: { id } };
  const access = useQuery({ queryKey, queryFn: () => unwrap(api.GET('/v2/pods/{id}/access', { params })) });
  const set = useMutation({
    mutationFn: (isPrivate: boolean) =>
      unwrap(api.PUT('/v2/pods/{id}/access', { params, body: { private: isPrivate } })),
    onSuccess: (data) => queries.setQueryData(queryKey, data),
  });
  return (
    <>
      <Switch
        label="Private"
        description="HTTP ports ask for an API key of yours. Browsers ask for a name and a password: enter any name, and the key as the password."
        checked={access.data?.private ?? false}
        disabled={access.data === undefined || set.isPending}
        onChange={(event) => set.mutate(event.currentTarget.checked)}
      />
      {set.error && <ErrorAlert error={set.error} />}
    </>
  );
}
