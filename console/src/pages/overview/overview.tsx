import './overview.css';
import { Anchor, List, Paper, SimpleGrid, Stack, Table, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from 'react-router';
import { useLive } from '../../api/events.ts';
import { type AccountSnapshot, queuedOf, runningOf } from '../../api/live-snapshots.ts';
import { endpointsQuery, installationQuery } from '../../api/queries.ts';
import { Figures } from '../../ui/figures.tsx';
import { EmptyNote, Page } from '../../ui/page.tsx';
import { SmallTable } from '../../ui/tables/small-table.tsx';
import { Name } from '../../ui/text/record-name.tsx';
import { Status } from '../../ui/text/status.tsx';
import { ENDPOINT_STATES } from '../endpoints/endpoint-states.ts';
import { AttentionList, useAttention } from './attention-list.tsx';
import { FirstSteps } from './first-steps.tsx';
import { describeWorkers, installationFacts, noticeText } from './installation-facts.ts';

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

/** The facts about this installation that users should know. Empty for a key that may not read them. */
function Installation() {
  const { data } = useQuery(installationQuery);
  if (!data) return null;
  return (
    <Stack gap="sm" component="section" aria-labelledby="installation">
      <Title order={2} size="h4" id="installation">
        Installation
      </Title>
      <Paper withBorder p="md">
        <SimpleGrid cols={{ base: 1, xs: 2, md: 3 }} spacing="md" component="dl" m={0}>
          {installationFacts(data).map(({ label, value }) => (
            <div key={label}>
              <Text component="dt" size="xs" c="dimmed">
                {label}
              </Text>
              <Text component="dd" size="sm" m={0}>
                {value}
              </Text>
            </div>
          ))}
        </SimpleGrid>
        {data.notices.length > 0 && (
          <List size="sm" c="dimmed" mt="md" aria-label="Notices">
            {data.notices.map((notice) => (
              <List.Item key={notice}>{noticeText(notice)}</List.Item>
            ))}
          </List>
        )}
      </Paper>
    </Stack>
  );
}
