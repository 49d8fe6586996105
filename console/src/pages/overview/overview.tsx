import './overview.css';
import { Anchor, List, Paper, SimpleGrid, Stack, Table, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Suspense, useRef, useState } from 'react';
import { Link } from 'react-router';
import { useLive } from '../../api/events.ts';
import { type AccountSnapshot, queuedOf, runningOf } from '../../api/live-snapshots.ts';
import { installationQuery } from '../../api/queries.ts';
import { Figures } from '../../ui/figures.tsx';
import { lazyPart } from '../../ui/lazy-part.ts';
import { EmptyNote, Page, RowsSkeleton } from '../../ui/page.tsx';
import { SmallTable } from '../../ui/tables/small-table.tsx';
import { Status } from '../../ui/text/status.tsx';
import { ENDPOINT_STATES } from '../endpoints/endpoint-states.ts';
import { AttentionList, useAttention } from './attention-list.tsx';
import { EndpointName, useEndpointNames } from './endpoint-names.tsx';
import { describeWorkers, installationFacts, noticeText } from './installation-facts.ts';

const FirstSteps = lazyPart(() => import('./first-steps.tsx'), 'FirstSteps');

export function OverviewPage() {
  const { snapshot } = useLive<AccountSnapshot>('/v2/account/live');
  const attention = useAttention();
  const steps = useFirstSteps(snapshot);
  return (
    <Page title="Overview">
      {!(steps.areShown && attention?.length === 0) && <AttentionList items={attention} />}
      {steps.areShown && snapshot && (
        <Suspense fallback={<RowsSkeleton />}>
          <FirstSteps count={snapshot.endpoints} onDone={steps.hide} />
        </Suspense>
      )}
      {!steps.areShown && (
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
      )}
      {!steps.areShown && <ActiveEndpoints snapshot={snapshot} />}
      <Installation />
    </Page>
  );
}

/** The first steps are shown until there is an endpoint that has answered; then until the reader has seen the answer. */
function useFirstSteps(snapshot: AccountSnapshot | undefined): { areShown: boolean; hide: () => void } {
  const [isHidden, setHidden] = useState(false);
  const wasNew = useRef(false);
  if (snapshot) {
    const { endpoints, jobs } = snapshot;
    wasNew.current ||= endpoints === 0 || (endpoints === 1 && jobs.completed + jobs.failed === 0);
  }
  return { areShown: wasNew.current && !isHidden, hide: () => setHidden(true) };
}

/** The endpoints with workers, jobs or requests. */
function ActiveEndpoints({ snapshot }: { snapshot: AccountSnapshot | undefined }) {
  const nameOf = useEndpointNames();
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
                  <EndpointName name={nameOf(id)} />
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
