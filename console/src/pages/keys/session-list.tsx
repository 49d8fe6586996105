import { Badge, Button, Stack, Text, Title } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { api, type Schemas, unwrap } from '../../api/client.ts';
import { Loaded } from '../../ui/page.tsx';
import { type Column, RecordList } from '../../ui/tables/record-list.tsx';
import { NO_VALUE } from '../../ui/text/format.ts';
import { Truncated } from '../../ui/text/record-name.tsx';
import { RelativeTime } from '../../ui/text/relative-time-view.tsx';
import { visibleText } from '../../ui/text/visible-text.ts';
import { browserOf, wayOf } from './session-values.ts';

type Session = Schemas['Session'];

/** Where a user is signed in. `userId`: null for one's own. */
export function Sessions({ userId }: { userId: string | null }) {
  const queries = useQueryClient();
  const queryKey = ['sessions', userId];
  const path = { path: { id: userId ?? '' } };
  const query = useQuery({
    queryKey,
    queryFn: () =>
      userId === null
        ? unwrap(api.GET('/v2/account/sessions'))
        : unwrap(api.GET('/v2/account/users/{id}/sessions', { params: path })),
  });
  const end = useMutation({
    mutationFn: (sessionId: string) =>
      userId === null
        ? unwrap(api.DELETE('/v2/account/sessions/{id}', { params: { path: { id: sessionId } } }))
        : unwrap(
            api.DELETE('/v2/account/users/{id}/sessions/{sessionId}', { params: { path: { id: userId, sessionId } } }),
          ),
    onSuccess: () => queries.invalidateQueries({ queryKey }),
  });
  const columns: Column<Session>[] = [
    { title: 'Browser', render: (session) => <Browser session={session} /> },
    { title: 'Signed in with', render: (session) => <Truncated text={wayOf(session)} maw={220} /> },
    { title: 'Address', isSecondary: true, render: ({ address }) => address ?? NO_VALUE },
    { title: 'Signed in', isSecondary: true, render: ({ createdAt }) => <RelativeTime at={createdAt} /> },
    { title: 'Last used', isSecondary: true, render: ({ lastUsedAt }) => <RelativeTime at={lastUsedAt} /> },
    { title: 'Ends', isSecondary: true, render: ({ endsAt }) => <RelativeTime at={endsAt} /> },
    {
      title: 'Actions',
      width: '90px',
      render: (session) => (
        <Button
          size="compact-sm"
          variant="default"
          loading={end.isPending && end.variables === session.id}
          onClick={() => end.mutate(session.id)}
          aria-label={visibleText(`Sign out ${browserOf(session)}`)}
        >
          Sign out
        </Button>
      ),
    },
  ];
  return (
    <Stack gap="sm" mt="lg">
      <Title order={2} size="h4">
        Signed-in browsers
      </Title>
      <Loaded query={query}>
        {({ sessions }) =>
          sessions.length === 0 ? (
            <Text c="dimmed">No browser is signed in.</Text>
          ) : (
            <RecordList
              label="Signed-in browsers"
              items={sessions}
              columns={columns}
              idOf={({ id }) => id}
              textOf={(session) => `${browserOf(session)} ${wayOf(session)} ${session.address}`}
              rowHeight={56}
              searchName="browser"
            />
          )
        }
      </Loaded>
    </Stack>
  );
}

function Browser({ session }: { session: Session }) {
  return (
    <>
      <Truncated text={browserOf(session)} maw={260} />
      {session.isCurrent && (
        <Badge variant="light" tt="none">
          This browser
        </Badge>
      )}
    </>
  );
}
