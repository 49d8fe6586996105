import { Anchor, Button, Group, Stack, Table, Text } from '@mantine/core';
import { IconStack2 } from '@tabler/icons-react';
import { useInfiniteQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { request } from '../../../api/client.ts';
import { EmptyState, Loaded } from '../../../ui/page.tsx';
import { SmallTable } from '../../../ui/tables/small-table.tsx';
import { formatNumber, NO_VALUE } from '../../../ui/text/format.ts';
import { Name } from '../../../ui/text/record-name.tsx';
import { RelativeTime } from '../../../ui/text/relative-time-view.tsx';
import { Status } from '../../../ui/text/status.tsx';
import type { EndpointTabProps } from '../endpoint-tab-props.ts';
import { BatchDrawer, BatchProgress } from './batch-drawer.tsx';
import { BATCH_STATES, type Batch, type BatchPage, describeProgress, hasEnded, stateOf } from './batch-values.ts';

const PAGE_SIZE = 50;
const POLL_MS = 2_000;

/** The endpoint's batches, newest first; polled while one of them runs. */
export function Batches({ endpoint }: EndpointTabProps) {
  const [shown, setShown] = useState<string | null>(null);
  const query = useInfiniteQuery({
    queryKey: ['batches', endpoint.id],
    initialPageParam: 0,
    getNextPageParam: ({ hasMore, offset, batches }: BatchPage) => (hasMore ? offset + batches.length : undefined),
    refetchInterval: ({ state }) =>
      state.data?.pages.some(({ batches }) => batches.some(({ status }) => status === 'FINALIZED')) ? POLL_MS : false,
    queryFn: async ({ pageParam, signal }) => {
      const path = `/v2/${endpoint.id}/batch?offset=${pageParam}&limit=${PAGE_SIZE}`;
      return (await (await request(path, { signal })).json()) as BatchPage;
    },
  });
  return (
    <Stack>
      <Loaded query={query}>
        {({ pages }) => <BatchTable batches={pages.flatMap(({ batches }) => batches)} onOpen={setShown} />}
      </Loaded>
      {query.hasNextPage && (
        <Group justify="center">
          <Button variant="default" onClick={() => void query.fetchNextPage()} loading={query.isFetchingNextPage}>
            Show more
          </Button>
        </Group>
      )}
      <BatchDrawer endpointId={endpoint.id} batchId={shown} onClose={() => setShown(null)} />
    </Stack>
  );
}

function BatchTable({ batches, onOpen }: { batches: readonly Batch[]; onOpen: (id: string) => void }) {
  if (batches.length === 0) {
    return (
      <EmptyState icon={IconStack2} title="No batches">
        A batch runs many requests when no interactive job waits. Upload a file of JSON lines with “podyard batch submit
        requests.jsonl --endpoint …”, or over the API.
      </EmptyState>
    );
  }
  return (
    <SmallTable label="Batches" titles={['Batch', 'Status', 'Progress', 'Ended', 'Failed', 'Created']} minWidth={800}>
      {batches.map((batch) => (
        <Table.Tr key={batch.id}>
          <Table.Td>
            <Anchor component="button" type="button" size="sm" ta="left" onClick={() => onOpen(batch.id)}>
              <Name>{batch.name ?? batch.id}</Name>
            </Anchor>
          </Table.Td>
          <Table.Td>
            <Status table={BATCH_STATES} value={stateOf(batch)} />
            {batch.reason !== undefined && !hasEnded(batch) && (
              <Text size="xs" c="dimmed" maw={260}>
                {batch.reason}
              </Text>
            )}
          </Table.Td>
          <Table.Td miw={160}>
            <BatchProgress batch={batch} />
          </Table.Td>
          <Table.Td className="figure nowrap">{describeProgress(batch)}</Table.Td>
          <Table.Td className="figure">
            {batch.requestFailed === 0 ? NO_VALUE : formatNumber(batch.requestFailed)}
          </Table.Td>
          <Table.Td>
            <RelativeTime at={batch.createdAt} />
          </Table.Td>
        </Table.Tr>
      ))}
    </SmallTable>
  );
}
