import { Anchor, Button, Code, Paper, Stack, Table, Text, Title } from '@mantine/core';
import { IconServerBolt } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { Link } from 'react-router';
import { api, unwrap } from '../api/client.ts';
import { useLive } from '../api/events.ts';
import type { AccountSnapshot } from '../api/live-types.ts';
import { Figures } from '../ui/figures.tsx';
import { EmptyState, Page } from '../ui/page.tsx';
import { SmallTable } from '../ui/small-table.tsx';
import { Installation } from './installation.tsx';

export function OverviewPage() {
  const { snapshot } = useLive<AccountSnapshot>('/v2/account/live');
  const { jobs, requests, workers } = snapshot ?? {};
  return (
    <Page title="Overview">
      <Figures
        figures={[
          { label: 'Endpoints', value: snapshot?.endpoints },
          { label: 'Workers', value: workers?.total },
          { label: 'Waiting', value: jobs && requests && jobs.inQueue + requests.held },
          { label: 'Running', value: jobs && requests && jobs.inProgress + requests.inFlight },
          { label: 'Completed', value: jobs?.completed },
          { label: 'Failed', value: jobs?.failed },
        ]}
      />
      {snapshot?.endpoints === 0 ? (
        <EmptyState
          icon={IconServerBolt}
          title="Your cloud is ready"
          action={
            <Button component={Link} to="/endpoints/new">
              Deploy an endpoint
            </Button>
          }
        >
          Deploy an endpoint from any worker image, send it a job, and watch a worker start for it. From a terminal,{' '}
          <Code>podyard demo</Code> shows the same in half a minute.
        </EmptyState>
      ) : (
        <Active snapshot={snapshot} />
      )}
      <Installation />
    </Page>
  );
}

/** Where something goes on now. */
function Active({ snapshot }: { snapshot: AccountSnapshot | undefined }) {
  const endpoints = useQuery({ queryKey: ['endpoints'], queryFn: () => unwrap(api.GET('/v2/serverless')) });
  const names = new Map(endpoints.data?.endpoints.map(({ id, name }) => [id, name]));
  const active = snapshot?.active ?? [];
  return (
    <Stack gap="sm">
      <Title order={2} size="h4">
        Busy now
      </Title>
      {active.length === 0 ? (
        <Paper withBorder p="md">
          <Text size="sm" c="dimmed">
            {snapshot ? 'All is quiet: no worker runs and nothing waits. That costs nothing.' : 'Looking…'}
          </Text>
        </Paper>
      ) : (
        <Paper withBorder>
          <SmallTable
            label="Busy endpoints"
            titles={['Endpoint', 'Waiting', 'Running', 'Workers']}
            minWidth={420}
            verticalSpacing="xs"
            className="figure"
          >
            {active.map(({ id, inQueue, inProgress, workers }) => (
              <Table.Tr key={id}>
                <Table.Td>
                  <Anchor component={Link} to={`/endpoints/${id}`} size="sm">
                    {names.get(id) ?? id}
                  </Anchor>
                </Table.Td>
                <Table.Td>{inQueue}</Table.Td>
                <Table.Td>{inProgress}</Table.Td>
                <Table.Td>
                  {workers.total}
                  {workers.throttled > 0 && ` (${workers.throttled} throttled)`}
                  {workers.unhealthy > 0 && ` (${workers.unhealthy} unhealthy)`}
                </Table.Td>
              </Table.Tr>
            ))}
          </SmallTable>
        </Paper>
      )}
    </Stack>
  );
}
