import { Group, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { api, unwrap } from '../../api/client.ts';
import { FormButton } from '../../ui/forms/form-button.tsx';
import { notifySuccess } from '../../ui/notify.ts';
import { NO_VALUE } from '../../ui/text/format.ts';
import { fromFieldValue, LIFETIME_FIELDS, lifetimeSummary, lifetimeText, lifetimeValues } from './pod-details.ts';

/** Says when a pod is stopped and terminated by itself, and changes it. */
export function PodLifetime({ id }: { id: string }) {
  const params = { path: { id } };
  const { data } = useQuery({
    queryKey: ['pod-lifetime', id],
    queryFn: () => unwrap(api.GET('/v2/pods/{id}/lifetime', { params })),
  });
  if (!data) return NO_VALUE;
  const initial = lifetimeValues(data);
  return (
    <Group gap="xs">
      {lifetimeText(data)}
      <FormButton
        label="Set times"
        title="When the pod ends by itself"
        submitLabel="Save"
        isInRow
        recordId={id}
        queryKey="pod-lifetime"
        initial={initial}
        summary={(values) => lifetimeSummary(values, initial)}
        onSubmit={async ({ stopAfter, terminateAfter }) => {
          const body = { stopAfter: fromFieldValue(stopAfter), terminateAfter: fromFieldValue(terminateAfter) };
          await unwrap(api.PUT('/v2/pods/{id}/lifetime', { params, body }));
          notifySuccess('Times set.');
        }}
      >
        {(form) => (
          <>
            <TextInput
              type="datetime-local"
              label={LIFETIME_FIELDS.stopAfter.label}
              description={LIFETIME_FIELDS.stopAfter.help}
              data-autofocus
              {...form.getInputProps('stopAfter')}
            />
            <TextInput
              type="datetime-local"
              label={LIFETIME_FIELDS.terminateAfter.label}
              description={LIFETIME_FIELDS.terminateAfter.help}
              {...form.getInputProps('terminateAfter')}
            />
          </>
        )}
      </FormButton>
    </Group>
  );
}
