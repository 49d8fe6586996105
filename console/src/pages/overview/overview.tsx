import './overview.css';
import { Anchor, Stack, Table, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from 'react-router';
import { useLive } from '../../api/events.ts';
import { type AccountSnapshot, describeWorkers, queuedOf, runningOf } from '../../api/live-snapshots.ts';
import { endpointsQuery } from '../../api/queries.ts';
import { EmptyNote, Page } from '../../ui/page.tsx';
import { Figures } from '../../ui/panel.tsx';
import { SmallTable } from '../../ui/tables/small-table.tsx';
import { Name } from '../../ui/text/record-name.tsx';
import { Status } from '../../ui/text/status.tsx';
import { ENDPOINT_STATES } from '../endpoints/endpoint-states.ts';
import { AttentionList, useAttention } from './attention-list.tsx';
import { FirstSteps } from './first-steps.tsx';
import { Installation } from './installation.tsx';

export function OverviewPage() {
  const { snapshot } = useLive<AccountSnapshot>('/v2/account/live');
  const attention = useAttention();
  const isNew = snapshot?.endpoints === 0 && attention?.length === 0;
  return (
    <Page title="Overview">
      {!isNew && <AttentionList items={attention} />}
      {snapshot?.endpoints === 0 && <FirstSteps />}
      <Figures
        figures={[
          { label: 'Endpoints', value: snapshot?.endpoints },
          { label: 'Workers', value: snapshot?.workers.total },
          { label: 'Queued', value: queuedOf(snapshot) },
          { label: 'Running', value: runningOf(snapshot) },
          { label: 'Completed', value: snapshot?.jobs.completed },
          { label: 'Failed', value: snapshot?.jobs.failed },
        ]}
      />
      {snapshot?.endpoints !== 0 && <ActiveEndpoints snapshot={snapshot} />}
      <Installation />
    </Page>
  );
}

/** The endpoints with workers, jobs or requests. */
function ActiveEndpoints({ snapshot }: { snapshot: AccountSnapshot | undefined }) {
  const endpoints = useQuery(endpointsQuery);
  const names = new Map(endpoints.data?.endpoints.map(({ id, name }) => [id, name]));
  const active = snapshot?.active ?? [];
  return (
    <Stack gap="sm">
      <Title order={2} size="h4">
        Active endpoints
      </Title>
      {active.length === 0 ? (
        <EmptyNote>{snapshot ? 'No workers or jobs right now.' : 'Loading…'}</EmptyNote>
      ) : (
        <SmallTable
          label="Active endpoints"
          titles={['Endpoint', 'State', 'Queued', 'Running', 'Workers']}
          minWidth={520}
          className="figure"
        >
          {active.map(({ id, state, inQueue, inProgress, workers }) => (
            <Table.Tr key={id}>
              <Table.Td>
                <Anchor component={Link} to={`/endpoints/${id}`} size="sm" className="record-name">
                  <Name>{names.get(id) ?? id}</Name>
                </Anchor>
              </Table.Td>
              <Table.Td>
                <Status table={ENDPOINT_STATES} value={state.state} />
              </Table.Td>
              <Table.Td>{inQueue}</Table.Td>
              <Table.Td>{inProgress}</Table.Td>
              <Table.Td>{describeWorkers(workers)}</Table.Td>
            </Table.Tr>
          ))}
        </SmallTable>
      )}
    </Stack>
  );
}
