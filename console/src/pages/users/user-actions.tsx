import { Button, Checkbox, Select, SimpleGrid, Text, TextInput } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { ApiError } from '../../api/api-error.ts';
import { api, unwrap } from '../../api/client.ts';
import { FormButton } from '../../ui/forms/form-button.tsx';
import { Name } from '../../ui/text/record-name.tsx';
import { RATE_WINDOWS, rateBody, rateForm, type User, WORKLOADS } from './user-values.ts';

const ROLES = [
  { value: 'USER', label: 'User' },
  { value: 'ADMIN', label: 'Admin' },
];

export function EditUser({ user: { userId, name, email, role } }: { user: User }) {
  return (
    <FormButton
      label="Edit"
      title={`Edit ${name}`}
      submitLabel="Save"
      isInRow
      queryKey="users"
      initial={{ email: email ?? '', role: role as string }}
      onSubmit={(values) => {
        const body = { email: values.email.trim() || null, role: values.role as User['role'] };
        return unwrap(api.PATCH('/v2/account/users/{id}', { params: { path: { id: userId } }, body }));
      }}
    >
      {(form) => (
        <>
          <TextInput label="Email" autoComplete="off" data-autofocus {...form.getInputProps('email')} />
          <Select label="Role" data={ROLES} allowDeselect={false} {...form.getInputProps('role')} />
        </>
      )}
    </FormButton>
  );
}

/** The form of a user's rate limit, once it is read. */
export function EditRate({ user: { userId, name } }: { user: User }) {
  const params = { path: { id: userId } };
  const { data } = useQuery({
    queryKey: ['users', userId, 'rate-limit'],
    queryFn: () => unwrap(api.GET('/v2/account/users/{id}/rate-limit', { params })),
  });
  if (!data) return null;
  return (
    <FormButton
      label="Rate limit"
      title={`API requests of ${name}`}
      submitLabel="Save"
      isInRow
      queryKey="users"
      initial={rateForm(data)}
      onSubmit={async (values) => {
        const { body, errors } = rateBody(values);
        if (errors.length > 0) throw new ApiError(422, 'Some limits are no numbers.', errors);
        return unwrap(api.PUT('/v2/account/users/{id}/rate-limit', { params, body }));
      }}
    >
      {(form) => (
        <>
          <Text size="sm" c="dimmed">
            Requests in each minute, hour and day. Leave a window empty to inherit the server’s.
          </Text>
          <SimpleGrid cols={{ base: 1, xs: 3 }}>
            {RATE_WINDOWS.map((window) => (
              <TextInput
                key={window}
                label={`Per ${window}`}
                inputMode="numeric"
                autoComplete="off"
                disabled={form.values.exempt}
                {...form.getInputProps(window)}
              />
            ))}
          </SimpleGrid>
          <Checkbox label="No limit" {...form.getInputProps('exempt', { type: 'checkbox' })} />
        </>
      )}
    </FormButton>
  );
}

/** Suspends an active user, with a form; ends the suspension of another one at once. */
export function SuspendButton({ user }: { user: User }) {
  const params = { path: { id: user.userId } };
  const queries = useQueryClient();
  const resume = useMutation({
    mutationFn: () => unwrap(api.POST('/v2/account/users/{id}/resume', { params })),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['users'] }),
  });
  if (user.suspension) {
    return (
      <Button variant="default" size="compact-sm" loading={resume.isPending} onClick={() => resume.mutate()}>
        Resume
      </Button>
    );
  }
  return (
    <FormButton
      label="Suspend"
      title={`Suspend ${user.name}`}
      submitLabel="Suspend"
      isInRow
      queryKey="users"
      initial={{ workloads: 'KEEP', reason: '' }}
      onSubmit={({ workloads, reason }) => {
        const body = { workloads: workloads as 'KEEP', reason: reason.trim() || null };
        return unwrap(api.POST('/v2/account/users/{id}/suspend', { params, body }));
      }}
    >
      {(form) => (
        <>
          <Text size="sm" c="dimmed">
            All keys of <Name>{user.name}</Name> are refused at once, and what was opened with them ends.
          </Text>
          <Select
            label="Endpoints and pods"
            data={WORKLOADS}
            allowDeselect={false}
            {...form.getInputProps('workloads')}
          />
          <TextInput
            label="Reason"
            description="Shown to admins only"
            autoComplete="off"
            data-autofocus
            {...form.getInputProps('reason')}
          />
        </>
      )}
    </FormButton>
  );
}
