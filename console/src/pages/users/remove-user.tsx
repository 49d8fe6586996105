import { Alert, Button, List, Select, Stack, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { api, unwrap } from '../../api/client.ts';
import { usersQuery } from '../../api/queries.ts';
import { ConfirmDelete } from '../../ui/confirm-delete.tsx';
import { ErrorAlert } from '../../ui/error-alert.tsx';
import { Name } from '../../ui/text/record-name.tsx';
import { visibleText } from '../../ui/text/visible-text.ts';
import { countsText, stateOf, type User } from './user-values.ts';

/** Deletes a user once their name is typed, with everything they own or after handing it over. */
export function RemoveUser({ user, onDone }: { user: User; onDone: () => void }) {
  const [isOpen, { open, close }] = useDisclosure(false);
  const [heirId, setHeirId] = useState<string | null>(null);
  const queries = useQueryClient();
  const { userId: id, name } = user;
  const query = heirId === null ? {} : { handOverTo: heirId };
  return (
    <>
      <Button variant="default" size="compact-sm" className="danger-text" onClick={open}>
        Delete
      </Button>
      <ConfirmDelete
        isOpen={isOpen}
        what="user"
        name={name}
        consequence={<Consequence user={user} isOpen={isOpen} heirId={heirId} onHeir={setHeirId} />}
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
  heirId: string | null;
  onHeir: (id: string | null) => void;
}

function Consequence({ user, isOpen, heirId, onHeir }: ConsequenceProps) {
  const { data: users = [] } = useQuery({ ...usersQuery, enabled: isOpen });
  const heirs = users.filter((other) => other.userId !== user.userId && stateOf(other) === 'ACTIVE');
  return (
    <Stack gap="sm">
      <Select
        label="What they own"
        data={[
          { value: '', label: 'Delete everything' },
          ...heirs.map(({ userId, name }) => ({ value: userId, label: `Hand over to ${visibleText(name)}` })),
        ]}
        value={heirId ?? ''}
        onChange={(value) => onHeir(value || null)}
        allowDeselect={false}
        searchable={heirs.length > 10}
      />
      {isOpen && <Plan id={user.userId} heirId={heirId} heir={heirs.find(({ userId }) => userId === heirId)?.name} />}
    </Stack>
  );
}

/** What the server would do, before it is asked to. */
function Plan({ id, heirId, heir }: { id: string; heirId: string | null; heir: string | undefined }) {
  const { data, error } = useQuery({
    queryKey: ['users', id, 'removal', heirId],
    queryFn: () => {
      const query = heirId === null ? {} : { handOverTo: heirId };
      return unwrap(api.GET('/v2/account/users/{id}/removal', { params: { path: { id }, query } }));
    },
  });
  if (error) return <ErrorAlert error={error} />;
  if (!data) return null;
  const owned = countsText(data.owned);
  return (
    <>
      <Text size="sm">{visibleText(sentence(owned, heir))}</Text>
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
            Raise the limits of <Name>{heir ?? ''}</Name> first
          </Text>
          <Text size="sm">{data.exceeded.join('; ')}.</Text>
        </Alert>
      )}
    </>
  );
}

function sentence(owned: string | null, heir: string | undefined): string {
  const keys = 'Their keys are refused at once.';
  if (owned === null) return `They own nothing. ${keys}`;
  if (heir !== undefined) return `${heir} gets ${owned}, and is charged from now on. ${keys}`;
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
