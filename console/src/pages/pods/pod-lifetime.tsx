import { Button, Group, Stack, Text, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { api, type Schemas, unwrap } from '../../api/client.ts';
import { FormAlert } from '../../ui/error-alert.tsx';
import { useSave } from '../../ui/forms/use-save.ts';
import { notifySuccess } from '../../ui/notify.ts';
import { Loaded } from '../../ui/page.tsx';
import { fromFieldValue, toFieldValue } from './pod-details.ts';

type Lifetime = Schemas['PodLifetime'];

/** Shows and sets when a pod is stopped and terminated. */
export function PodLifetime({ id }: { id: string }) {
  const query = useQuery({
    queryKey: ['pod-lifetime', id],
    queryFn: () => unwrap(api.GET('/v2/pods/{id}/lifetime', { params: { path: { id } } })),
  });
  return (
    <Loaded query={query}>{(lifetime) => <Editor key={JSON.stringify(lifetime)} id={id} lifetime={lifetime} />}</Loaded>
  );
}

function Editor({ id, lifetime }: { id: string; lifetime: Lifetime }) {
  const queries = useQueryClient();
  const form = useForm({
    mode: 'controlled',
    initialValues: {
      stopAfter: toFieldValue(lifetime.stopAfter),
      terminateAfter: toFieldValue(lifetime.terminateAfter),
    },
  });
  const { submit, otherErrors, isSaving } = useSave(form, {
    fields: ['stopAfter', 'terminateAfter'],
    save: ({ stopAfter, terminateAfter }) =>
      unwrap(
        api.PUT('/v2/pods/{id}/lifetime', {
          params: { path: { id } },
          body: { stopAfter: fromFieldValue(stopAfter), terminateAfter: fromFieldValue(terminateAfter) },
        }),
      ),
    onSaved: (saved) => {
      queries.setQueryData(['pod-lifetime', id], saved);
      notifySuccess('Times set.');
    },
  });
  return (
    <form onSubmit={submit} noValidate>
      <Stack gap="xs">
        <Text size="sm" c="dimmed">
          When the pod is stopped and terminated by itself. Empty: never.
        </Text>
        <Group grow align="start">
          <TextInput type="datetime-local" label="Stop after" {...form.getInputProps('stopAfter')} />
          <TextInput type="datetime-local" label="Terminate after" {...form.getInputProps('terminateAfter')} />
        </Group>
        <FormAlert errors={otherErrors} />
        <Group>
          <Button type="submit" loading={isSaving} disabled={!form.isDirty()}>
            Set times
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
