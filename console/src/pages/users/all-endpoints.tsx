import { Text } from '@mantine/core';
import { IconServerBolt } from '@tabler/icons-react';
import { queryOptions, useQuery } from '@tanstack/react-query';
import { api, type Schemas, unwrap } from '../../api/client.ts';
import { accountQuery } from '../../api/queries.ts';
import { type Column, RecordPage } from '../../ui/tables/record-page.tsx';
import { formatNumber } from '../../ui/text/format.ts';
import { RecordLink, TwoLines } from '../../ui/text/record-name.tsx';
import { Status } from '../../ui/text/status.tsx';
import { visibleText } from '../../ui/text/visible-text.ts';
import { ENDPOINT_STATES } from '../endpoints/endpoint-states.ts';

type OwnedEndpoint = Schemas['InstallationEndpointList']['endpoints'][number];

const REFRESH_MS = 10_000;

/** The endpoints of all accounts, from as many pages as there are. */
const allEndpointsQuery = queryOptions({
  queryKey: ['all-endpoints'],
  queryFn: async () => {
    const endpoints: OwnedEndpoint[] = [];
    let after: string | null = null;
    do {
      const page: Schemas['InstallationEndpointList'] = await unwrap(
        api.GET('/v2/account/installation/endpoints', { params: { query: after === null ? {} : { after } } }),
      );
      endpoints.push(...page.endpoints);
      after = page.next;
    } while (after !== null);
    return endpoints;
  },
});

const STATE_ORDER = Object.keys(ENDPOINT_STATES);
const STATES = { table: ENDPOINT_STATES, of: ({ state }: OwnedEndpoint) => state };
const COLUMNS: Column<OwnedEndpoint>[] = [
  {
    title: 'Name',
    sortKey: 'name',
    sortValue: ({ name }) => name,
    render: (endpoint) => <OthersLink endpoint={endpoint} />,
  },
  {
    title: 'Account',
    sortKey: 'account',
    sortValue: ({ account }) => account.name,
    render: ({ account: { id, name, kind } }) => (
      <RecordLink to={kind === 'TEAM' ? `/teams/${id}` : `/users/${id}`} name={name} />
    ),
  },
  {
    title: 'State',
    sortKey: 'state',
    sortValue: ({ state }) => STATE_ORDER.indexOf(state),
    render: ({ state }) => <Status table={ENDPOINT_STATES} value={state} />,
  },
  {
    title: 'Workers',
    isNumber: true,
    sortKey: 'workers',
    sortValue: ({ workers }) => workers,
    render: ({ workers }) => formatNumber(workers),
  },
  { title: 'Why', isWide: true, render: ({ reason, warnings }) => <TwoLines text={reason ?? warnings[0] ?? ''} /> },
];
const idOf = ({ id }: OwnedEndpoint) => id;
const textOf = ({ id, name, account, state }: OwnedEndpoint) =>
  `${id} ${name} ${account.id} ${account.name} ${ENDPOINT_STATES[state].label}`;

/** For admins; everybody else gets the server's 403. */
export function AllEndpointsPage() {
  const query = useQuery({ ...allEndpointsQuery, refetchInterval: ({ state }) => (state.error ? false : REFRESH_MS) });
  return (
    <RecordPage
      title="All endpoints"
      action={null}
      query={query}
      empty={{
        icon: IconServerBolt,
        title: 'No endpoints yet',
        text: 'Here are the endpoints of all people and teams, once there are any.',
      }}
      label="endpoints of all accounts"
      columns={COLUMNS}
      idOf={idOf}
      textOf={textOf}
      states={STATES}
      defaultSort="state"
    />
  );
}

/** Leads to the endpoint in a page that acts for its owner, as an auditor does. */
function OthersLink({ endpoint: { id, name, account } }: { endpoint: OwnedEndpoint }) {
  const own = useQuery(accountQuery).data?.id;
  const { pathname } = window.location;
  return (
    <Text
      component="a"
      href={account.id === own ? `${pathname}#/endpoints/${id}` : `${pathname}?team=${account.id}#/endpoints/${id}`}
      size="sm"
      c="inherit"
      fw={550}
      className="record-name"
      title={visibleText(name)}
    >
      <bdi>{visibleText(name)}</bdi>
    </Text>
  );
}
