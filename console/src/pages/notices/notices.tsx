import { Box, Group, Stack, Tabs } from '@mantine/core';
import { IconBell } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { api, unwrap } from '../../api/client.ts';
import { accountQuery } from '../../api/queries.ts';
import { DeleteButton } from '../../ui/confirm-delete.tsx';
import { EmptyState, Loaded, Page } from '../../ui/page.tsx';
import { type Column, RecordList } from '../../ui/tables/record-list.tsx';
import { RecordName, Truncated, TwoLines } from '../../ui/text/record-name.tsx';
import { RelativeTime } from '../../ui/text/relative-time-view.tsx';
import { Status } from '../../ui/text/status.tsx';
import { visibleText } from '../../ui/text/visible-text.ts';
import { EditDestination, NewDestination, SigningSecret } from './change-destination.tsx';
import { Deliveries } from './deliveries.tsx';
import { type Destination, eventsText, type Scope, STATES, stateOf } from './notice-values.ts';
import { SendTest } from './send-test.tsx';

/** The destinations of notices: of the account, and for admins also of the installation. */
export function NoticesPage() {
  const isAdmin = useQuery(accountQuery).data?.role === 'ADMIN';
  const [scope, setScope] = useState<Scope>('ACCOUNT');
  const [secret, setSecret] = useState<string | null>(null);
  const add = <NewDestination key={scope} scope={scope} onCreated={setSecret} />;
  return (
    <Page title="Notices" description="Where you are told that something needs you." actions={add}>
      <Stack gap="sm">
        {isAdmin && (
          <Tabs value={scope} onChange={(value) => setScope(value as Scope)}>
            <Tabs.List aria-label="Whose notices">
              <Tabs.Tab value="ACCOUNT">Yours</Tabs.Tab>
              <Tabs.Tab value="INSTALLATION">The installation’s</Tabs.Tab>
            </Tabs.List>
            <Tabs.Panel value={scope} pt="sm">
              <Destinations scope={scope} add={add} />
            </Tabs.Panel>
          </Tabs>
        )}
        {!isAdmin && <Destinations scope={scope} add={add} />}
      </Stack>
      <SigningSecret secret={secret} onClose={() => setSecret(null)} />
    </Page>
  );
}

function Destinations({ scope, add }: { scope: Scope; add: ReactNode }) {
  const query = useQuery({
    queryKey: ['notices', scope],
    queryFn: () => unwrap(api.GET('/v2/account/notices', { params: { query: { scope } } })),
  });
  return (
    <Loaded query={query}>
      {({ destinations }) =>
        destinations.length === 0 ? (
          <EmptyState icon={IconBell} title="Nobody is told yet" action={add}>
            {scope === 'ACCOUNT'
              ? 'Add an email address, a webhook or a chat, and you are told when an endpoint fails or waits, jobs wait long, a budget is nearly used up, or a key expires.'
              : 'Add where to tell those who run this installation: also of a full disk, a change of the leader, and an audit log that is not sent.'}
          </EmptyState>
        ) : (
          <RecordList
            label="destinations"
            items={destinations}
            columns={COLUMNS}
            idOf={({ id }) => id}
            textOf={({ name, address, lastError }) => `${name} ${address} ${lastError ?? ''}`}
            states={STATE_FILTER}
            defaultSort="state"
            rowHeight={56}
          />
        )
      }
    </Loaded>
  );
}

const STATE_ORDER = Object.keys(STATES);
const STATE_FILTER = { table: STATES, of: stateOf };
const COLUMNS: Column<Destination>[] = [
  {
    title: 'Name',
    sortKey: 'name',
    sortValue: ({ name }) => name,
    render: (destination) => <NameCell destination={destination} />,
  },
  {
    title: 'Events',
    isWide: true,
    render: ({ scope, events }) => <TwoLines text={eventsText(scope, events)} />,
  },
  {
    title: 'State',
    sortKey: 'state',
    sortValue: (destination) => STATE_ORDER.indexOf(stateOf(destination)),
    render: (destination) => <StateCell destination={destination} />,
  },
  {
    title: 'Last sent',
    isWide: true,
    sortKey: 'sent',
    sortValue: ({ lastSentAt }) => (lastSentAt ? Date.parse(lastSentAt) : null),
    render: ({ lastSentAt }) => (lastSentAt ? <RelativeTime at={lastSentAt} /> : 'Never'),
  },
  { title: 'Actions', width: '330px', render: (destination) => <Actions destination={destination} /> },
];

/** Its address stands below its name. */
function NameCell({ destination: { name, kind, address } }: { destination: Destination }) {
  const text = visibleText(`${labelOfKind(kind)}: ${address}`);
  return (
    <div className="cell-lines">
      <RecordName>{name}</RecordName>
      <div className="record-name second-line" title={text}>
        {text}
      </div>
    </div>
  );
}

/** Why the last message was not accepted stands below the state. */
function StateCell({ destination }: { destination: Destination }) {
  const { enabled, lastError } = destination;
  return (
    <Box miw={0}>
      <Status table={STATES} value={stateOf(destination)} />
      {enabled && lastError !== null && <Truncated text={lastError} maw="clamp(10rem, 18vw, 28rem)" isDimmed />}
    </Box>
  );
}

function labelOfKind(kind: Destination['kind']): string {
  return { EMAIL: 'Email', WEBHOOK: 'Webhook', SLACK: 'Slack', TEAMS: 'Teams' }[kind];
}

function Actions({ destination }: { destination: Destination }) {
  const { id, name } = destination;
  return (
    <Group gap={4} wrap="nowrap">
      <SendTest destination={destination} />
      <Deliveries destination={destination} />
      <EditDestination destination={destination} />
      <DeleteButton
        what="destination"
        name={name}
        queryKey="notices"
        consequence="It is told nothing more, and what waits to be sent there is not sent."
        onConfirm={() => unwrap(api.DELETE('/v2/account/notices/{id}', { params: { path: { id } } }))}
      />
    </Group>
  );
}
