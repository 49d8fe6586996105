import { Table, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { api, type Schemas, unwrap } from '../../api/client.ts';
import { EmptyNote, Loaded } from '../page.tsx';
import { SmallTable } from '../tables/small-table.tsx';
import { formatDuration, NO_VALUE } from '../text/format.ts';
import { Name } from '../text/record-name.tsx';
import { RelativeTime } from '../text/relative-time-view.tsx';

export const SESSIONS_KEY = ['terminals'];
const REFRESH_MS = 10_000;
const SHOWN = 20;

/** Who opened a terminal here, from where and for how long. */
export function TerminalSessions({ isPlaceOf }: { isPlaceOf: (session: Schemas['TerminalSession']) => boolean }) {
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
