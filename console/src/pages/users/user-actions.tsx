import { Alert, Button, Checkbox, List, Select, SimpleGrid, Stack, Text, TextInput } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { IconTrash } from '@tabler/icons-react';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { ApiError } from '../../api/api-error.ts';
import { api, unwrap } from '../../api/client.ts';
import { ConfirmDelete } from '../../ui/confirm-delete.tsx';
import { ErrorAlert } from '../../ui/error-alert.tsx';
import { FormButton } from '../../ui/forms/form-button.tsx';
import { Hint } from '../../ui/hint.tsx';
import { Name } from '../../ui/text/record-name.tsx';
import { visibleText } from '../../ui/text/visible-text.ts';
import { countsText, RATE_WINDOWS, ROLES, rateBody, rateForm, stateOf, type User, WORKLOADS } from './user-values.ts';
import { usersQuery } from './users-query.ts';

export function EditUser({ user: { userId, name, email, role } }: { user: User }) {
  return (
    <FormButton
      label="Edit"
      title={`Edit ${name}`}
      submitLabel="Save"
      isPlain
      recordId={userId}
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
      isPlain
      recordId={userId}
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
          <Hint>Requests in each minute, hour and day. Leave a window empty to inherit the server’s.</Hint>
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
      <Button variant="default" loading={resume.isPending} onClick={() => resume.mutate()}>
        Resume
      </Button>
    );
  }
  return (
    <FormButton
      label="Suspend"
      title={`Suspend ${user.name}`}
      submitLabel="Suspend"
      isPlain
      recordId={user.userId}
      queryKey="users"
      initial={{ workloads: 'KEEP', reason: '' }}
      onSubmit={({ workloads, reason }) => {
        const body = { workloads: workloads as 'KEEP', reason: reason.trim() || null };
        return unwrap(api.POST('/v2/account/users/{id}/suspend', { params, body }));
      }}
    >
      {(form) => (
        <>
          <Hint>
            All keys of <Name>{user.name}</Name> are refused at once, and what was opened with them ends.
          </Hint>
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

/** Deletes a user once their name is typed, with everything they own or after handing it over. */
export function RemoveUser({ user, onDone }: { user: User; onDone: () => void }) {
  const [isOpen, { open, close }] = useDisclosure(false);
  const [newOwnerId, setNewOwnerId] = useState<string | null>(null);
  const queries = useQueryClient();
  const { userId: id, name } = user;
  const query = newOwnerId === null ? {} : { handOverTo: newOwnerId };
  return (
    <>
      <Button variant="default" leftSection={<IconTrash size={16} aria-hidden />} onClick={open}>
        Delete…
      </Button>
      <ConfirmDelete
        isOpen={isOpen}
        what="user"
        name={name}
        consequence={<Consequence user={user} isOpen={isOpen} newOwnerId={newOwnerId} onNewOwner={setNewOwnerId} />}
        onClose={close}
        onConfirm={() => unwrap(api.DELETE('/v2/account/users/{id}', { params: { path: { id }, query } }))}
        onDone={() => {
          void queries.invalidateQueries({ queryKey: ['users'] });
          onDone();
        }}
      />
    </>
  );
}

interface ConsequenceProps {
  user: User;
  isOpen: boolean;
  newOwnerId: string | null;
  onNewOwner: (id: string | null) => void;
}

function Consequence({ user, isOpen, newOwnerId, onNewOwner }: ConsequenceProps) {
  const { data: users = [] } = useQuery({ ...usersQuery, enabled: isOpen });
  const newOwners = users.filter((other) => other.userId !== user.userId && stateOf(other) === 'ACTIVE');
  return (
    <Stack gap="sm">
      <Select
        label="What they own"
        data={[
          { value: '', label: 'Delete everything' },
          ...newOwners.map(({ userId, name }) => ({ value: userId, label: `Hand over to ${visibleText(name)}` })),
        ]}
        value={newOwnerId ?? ''}
        onChange={(value) => onNewOwner(value || null)}
        allowDeselect={false}
        searchable={newOwners.length > 10}
      />
      {isOpen && (
        <Plan
          id={user.userId}
          newOwnerId={newOwnerId}
          newOwner={newOwners.find(({ userId }) => userId === newOwnerId)?.name}
        />
      )}
    </Stack>
  );
}

/** The consequences of a removal, which the server computes without carrying it out. */
function Plan({ id, newOwnerId, newOwner }: { id: string; newOwnerId: string | null; newOwner: string | undefined }) {
  const { data, error } = useQuery({
    queryKey: ['users', id, 'removal', newOwnerId],
    queryFn: () => {
      const query = newOwnerId === null ? {} : { handOverTo: newOwnerId };
      return unwrap(api.GET('/v2/account/users/{id}/removal', { params: { path: { id }, query } }));
    },
  });
  if (error) return <ErrorAlert error={error} />;
  if (!data) return null;
  const owned = countsText(data.owned);
  return (
    <>
      <Text size="sm">{visibleText(sentence(owned, newOwner))}</Text>
      {data.renamed.length > 0 && (
        <Notes title="These names are taken, and change">
          {data.renamed.map(({ id: recordId, kind, from, to }) => (
            <List.Item key={recordId}>
              {kind} <Name>{from}</Name> → <Name>{to}</Name>
            </List.Item>
          ))}
        </Notes>
      )}
      {data.exceeded.length > 0 && (
        <Alert color="red">
          <Text fw={600}>
            Raise the limits of <Name>{newOwner ?? ''}</Name> first
          </Text>
          <Text size="sm">{data.exceeded.join('; ')}.</Text>
        </Alert>
      )}
    </>
  );
}

function sentence(owned: string | null, newOwner: string | undefined): string {
  const keys = 'Their keys are refused at once.';
  if (owned === null) return `They own nothing. ${keys}`;
  if (newOwner !== undefined) return `${newOwner} gets ${owned}, and is charged from now on. ${keys}`;
  return `${owned} will be deleted, with all data. You can't undo this. ${keys}`;
}

function Notes({ title, children }: { title: string; children: ReactNode }) {
  return (
    <div>
      <Text size="sm" fw={550}>
        {title}
      </Text>
      <List size="sm">{children}</List>
    </div>
  );
}
