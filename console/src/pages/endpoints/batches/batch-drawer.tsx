import { Button, Drawer, Group, List, Progress, Stack, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { request } from '../../../api/client.ts';
import { ErrorAlert } from '../../../ui/error-alert.tsx';
import { Figures } from '../../../ui/figures.tsx';
import { Hint } from '../../../ui/hint.tsx';
import { notifySuccess } from '../../../ui/notify.ts';
import { Loaded } from '../../../ui/page.tsx';
import { saveFile } from '../../../ui/save-file.ts';
import { formatCount, formatDate, formatNumber } from '../../../ui/text/format.ts';
import { enumLabel } from '../../../ui/text/labels.ts';
import { Name } from '../../../ui/text/record-name.tsx';
import { Status } from '../../../ui/text/status.tsx';
import {
  BATCH_STATES,
  type Batch,
  describeEstimate,
  describeProgress,
  hasEnded,
  progressOf,
  stateOf,
} from './batch-values.ts';

const POLL_MS = 1_000;
/** Shown only if a request is in one of them. */
const RARE_STATES = ['CANCELLED', 'TIMED_OUT'];

/** One batch: its counts, why it waits or ended, its results, and what can be done with it. */
export function BatchDrawer(props: { endpointId: string; batchId: string | null; onClose: () => void }) {
  const { endpointId, batchId, onClose } = props;
  return (
    <Drawer opened={batchId !== null} onClose={onClose} position="right" size="lg" title={batchId ?? ''}>
      {batchId !== null && <BatchView path={`/v2/${endpointId}/batch/${batchId}`} />}
    </Drawer>
  );
}

function BatchView({ path }: { path: string }) {
  const query = useQuery<Batch>({
    queryKey: ['batch', path],
    refetchInterval: ({ state }) => (state.data?.status === 'FINALIZED' ? POLL_MS : false),
    queryFn: async ({ signal }) => (await (await request(path, { signal })).json()) as Batch,
  });
  return (
    <Loaded query={query}>
      {(batch) => (
        <Stack>
          <Group gap="md">
            <Status table={BATCH_STATES} value={stateOf(batch)} />
            {batch.name !== undefined && (
              <Text size="sm" className="anywhere">
                <Name>{batch.name}</Name>
              </Text>
            )}
            <Text size="sm">Created {timeOf(batch.createdAt)}</Text>
            {batch.endedAt !== undefined && <Text size="sm">Ended {timeOf(batch.endedAt)}</Text>}
          </Group>
          {batch.reason !== undefined && <Text size="sm">{batch.reason}</Text>}
          <BatchProgress batch={batch} />
          <Figures
            figures={Object.entries(batch.counts)
              .filter(([state, value]) => value > 0 || !RARE_STATES.includes(state))
              .map(([state, value]) => ({ label: enumLabel(state), value }))}
          />
          {batch.estimate && <Text size="sm">{describeEstimate(batch)}</Text>}
          <Rejections batch={batch} />
          <Actions batch={batch} path={path} />
          {batch.expiresAt !== undefined && (
            <Hint size="xs">The results are kept until {timeOf(batch.expiresAt)}.</Hint>
          )}
        </Stack>
      )}
    </Loaded>
  );
}

function Rejections({ batch }: { batch: Batch }) {
  if (batch.requestRejected === 0) return null;
  return (
    <Stack gap="xs">
      <Text size="sm" fw={600}>
        {formatCount(batch.requestRejected, 'line')} rejected
      </Text>
      <List size="sm">
        {batch.rejections.slice(0, 10).map(({ line, reason }) => (
          <List.Item key={line}>
            Line {formatNumber(line)}: {reason}
          </List.Item>
        ))}
      </List>
    </Stack>
  );
}

/** Cancelling asks for a second click: it cannot be undone. */
function Actions({ batch, path }: { batch: Batch; path: string }) {
  const [isSure, { open: ask, close }] = useDisclosure(false);
  const queries = useQueryClient();
  const change = useMutation({
    meta: { isShownInPlace: true },
    mutationFn: ({ suffix, ...init }: RequestInit & { suffix: string }) => request(`${path}${suffix}`, init),
    onSuccess: () => {
      close();
      void queries.invalidateQueries({ queryKey: ['batch', path] });
      void queries.invalidateQueries({ queryKey: ['batches'] });
    },
  });
  const isOver = hasEnded(batch) || batch.cancelledAt !== undefined;
  const put = (paused: boolean) =>
    change.mutate({
      ...{ suffix: '', method: 'PUT', body: JSON.stringify({ paused }) },
      headers: { 'content-type': 'application/json' },
    });
  return (
    <>
      {change.error && <ErrorAlert error={change.error} />}
      <Group>
        {batch.status !== 'DRAFT' && <DownloadButton path={path} id={batch.id} />}
        {batch.status === 'DRAFT' && batch.requestTotal > 0 && (
          <Button onClick={() => change.mutate({ suffix: '/finalize', method: 'POST' })} loading={change.isPending}>
            Run
          </Button>
        )}
        {!isOver && batch.status === 'FINALIZED' && (
          <Button variant="default" onClick={() => put(!batch.paused)} loading={change.isPending}>
            {batch.paused ? 'Resume' : 'Pause'}
          </Button>
        )}
        {!isOver && (
          <Button
            variant={isSure ? 'filled' : 'default'}
            color="red.9"
            onClick={isSure ? () => change.mutate({ suffix: '/cancel', method: 'POST' }) : ask}
            loading={change.isPending}
          >
            {isSure ? 'Cancel it for good' : 'Cancel batch'}
          </Button>
        )}
      </Group>
    </>
  );
}

function DownloadButton({ path, id }: { path: string; id: string }) {
  const download = useMutation({
    mutationFn: async () => {
      saveFile(`${id}.jsonl`, await (await request(`${path}/results`)).blob());
    },
    onSuccess: () => notifySuccess(`Downloaded ${id}.jsonl.`),
  });
  return (
    <Button variant="default" onClick={() => download.mutate()} loading={download.isPending}>
      Download results
    </Button>
  );
}

function timeOf(ms: number): string {
  return formatDate(new Date(ms).toISOString());
}

/** The share of a batch that has ended, with and without a result. */
export function BatchProgress({ batch }: { batch: Batch }) {
  const { completed, failed } = progressOf(batch);
  const label = `${describeProgress(batch)} requests ended`;
  return (
    <Progress.Root size="md" flex="1 0 auto">
      <Progress.Section value={completed} color="green" aria-label={label} />
      <Progress.Section
        value={failed}
        color="red"
        aria-label={`${formatNumber(batch.requestFailed)} without a result`}
      />
    </Progress.Root>
  );
}
