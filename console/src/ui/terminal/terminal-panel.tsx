import { Alert, Button, Group, Skeleton, Stack, Table, Text, Title } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { type ReactNode, Suspense, useState } from 'react';
import { ApiError } from '../../api/api-error.ts';
import { api, BASE_URL, type Schemas, unwrap } from '../../api/client.ts';
import { ErrorAlert } from '../error-alert.tsx';
import { lazyPart } from '../lazy-part.ts';
import { EmptyNote, Loaded } from '../page.tsx';
import { SmallTable } from '../tables/small-table.tsx';
import { formatDuration, NO_VALUE } from '../text/format.ts';
import { Name } from '../text/record-name.tsx';
import { RelativeTime } from '../text/relative-time-view.tsx';
import { endText, type TerminalEnd } from './terminal-connection.ts';
import type { TerminalTicket } from './terminal-screen.tsx';

const Screen = lazyPart(() => import('./terminal-screen.tsx'), 'TerminalScreen');

const NEEDS_SCOPE =
  'This needs a key with the scope exec, which all does not include. The operator can create one: podyard keys create --scope all exec';

/** A shell in a pod or worker, opened by a click. `open` asks the server for a ticket. */
export function TerminalPanel({
  open,
  isPlaceOf,
  children,
}: {
  open: () => Promise<Schemas['TerminalTicket']>;
  isPlaceOf: (session: Schemas['TerminalSession']) => boolean;
  /** Beside the button. */
  children?: ReactNode;
}) {
  const queries = useQueryClient();
  const [end, setEnd] = useState<TerminalEnd | null>(null);
  const [notice, setNotice] = useState<string | null>(null);
  const opening = useMutation({
    mutationFn: async (): Promise<TerminalTicket> => here(await open()),
    onMutate: () => {
      setEnd(null);
      setNotice(null);
    },
  });
  const refresh = () => void queries.invalidateQueries({ queryKey: SESSIONS_KEY });
  const isOpen = opening.data !== undefined && end === null;
  return (
    <Stack>
      <Group>
        {children}
        {!isOpen && (
          <Button onClick={() => opening.mutate()} loading={opening.isPending}>
            {end === null ? 'Open a terminal' : 'Open another one'}
          </Button>
        )}
        {isOpen && (
          <Button variant="default" onClick={opening.reset}>
            End
          </Button>
        )}
        {end !== null && <Text size="sm">{endText(end)}</Text>}
      </Group>
      {notice !== null && isOpen && <Alert color="orange">{notice}</Alert>}
      {opening.isError && <ErrorAlert error={readable(opening.error)} />}
      {opening.data && (
        <Suspense fallback={<Skeleton h={420} />}>
          <Screen
            ticket={opening.data}
            onNotice={setNotice}
            onEnd={(how) => {
              setEnd(how);
              refresh();
            }}
          />
        </Suspense>
      )}
      <TerminalSessions isPlaceOf={isPlaceOf} />
    </Stack>
  );
}

/** The server as this page reaches it: its own idea of its URL may be another. */
function here({ url, protocols }: Schemas['TerminalTicket']): TerminalTicket {
  const base = new URL(BASE_URL || '/', window.location.href);
  const place = new URL(url);
  return { url: `${base.protocol.replace('http', 'ws')}//${base.host}${place.pathname}`, protocols };
}

function readable(error: Error): Error {
  const isScope = error instanceof ApiError && error.status === 403 && error.message === 'access denied';
  return isScope ? new Error(NEEDS_SCOPE) : error;
}

const SESSIONS_KEY = ['terminals'];
const REFRESH_MS = 10_000;
const SHOWN = 20;

/** The terminal sessions here: user, address and duration. */
function TerminalSessions({ isPlaceOf }: { isPlaceOf: (session: Schemas['TerminalSession']) => boolean }) {
  const query = useQuery({
    queryKey: SESSIONS_KEY,
    queryFn: () => unwrap(api.GET('/v2/account/terminals')),
    refetchInterval: REFRESH_MS,
  });
  return (
    <section aria-label="Sessions">
      <Title order={2} size="h5" mb="xs">
        Sessions
      </Title>
      <Loaded query={query}>
        {({ terminals }) => {
          const shown = terminals.filter(isPlaceOf).slice(0, SHOWN);
          if (shown.length === 0)
            return <EmptyNote>Nobody has opened one here. What is typed is never recorded.</EmptyNote>;
          return (
            <SmallTable label="Sessions" titles={['Opened', 'By', 'From', 'Program', 'Lasted', 'End']} minWidth={720}>
              {shown.map((session) => (
                <Table.Tr key={session.id}>
                  <Table.Td>{session.openedAt && <RelativeTime at={session.openedAt} />}</Table.Td>
                  <Table.Td>
                    <Name>{session.userName}</Name>{' '}
                    <Text span size="xs" c="dimmed">
                      (<Name>{session.keyName}</Name>)
                    </Text>
                  </Table.Td>
                  <Table.Td>{session.clientAddress ?? NO_VALUE}</Table.Td>
                  <Table.Td ff="monospace">{session.program}</Table.Td>
                  <Table.Td className="figure">{durationOf(session)}</Table.Td>
                  <Table.Td>{endOf(session)}</Table.Td>
                </Table.Tr>
              ))}
            </SmallTable>
          );
        }}
      </Loaded>
    </section>
  );
}

function durationOf({ openedAt, endedAt }: Schemas['TerminalSession']): string {
  return openedAt && endedAt ? formatDuration(Date.parse(endedAt) - Date.parse(openedAt)) : NO_VALUE;
}

function endOf({ status, exitCode, endReason }: Schemas['TerminalSession']): string {
  if (status === 'OPEN') return 'Open';
  return endReason ?? (exitCode === null ? NO_VALUE : `Exit code ${exitCode}`);
}
