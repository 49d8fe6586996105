import { Anchor } from '@mantine/core';
import { IconServerBolt } from '@tabler/icons-react';
import { queryOptions, useQuery } from '@tanstack/react-query';
import { api, type Schemas, unwrap } from '../../api/client.ts';
import { accountQuery } from '../../api/queries.ts';
import { readPages } from '../../api/read-pages.ts';
import { type Column, RecordPage } from '../../ui/tables/record-page.tsx';
import { formatNumber } from '../../ui/text/format.ts';
import { RecordLink, RecordName, TwoLines } from '../../ui/text/record-name.tsx';
import { Status } from '../../ui/text/status.tsx';
import { ENDPOINT_STATES } from '../endpoints/endpoint-states.ts';

type OwnedEndpoint = Schemas['InstallationEndpointList']['endpoints'][number];

const REFRESH_MS = 10_000;

const allEndpointsQuery = queryOptions({
  queryKey: ['all-endpoints'],
  queryFn: () =>
    readPages(
      (query) => unwrap(api.GET('/v2/account/installation/endpoints', { params: { query } })),
      ({ endpoints }) => endpoints,
    ),
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
  { title: 'Reason', isWide: true, render: ({ reason, warnings }) => <TwoLines text={reason ?? warnings[0] ?? ''} /> },
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
  const acting = account.id === own ? '' : `?team=${account.id}`;
  return (
    <Anchor href={`${pathname}${acting}#/endpoints/${id}`} c="inherit" underline="never">
      <RecordName>{name}</RecordName>
    </Anchor>
  );
}
