import { Select, Stack, Text } from '@mantine/core';
import { useSearchParams } from 'react-router';
import type { EndpointSnapshot } from '../../api/live-types.ts';
import { LogView } from '../../ui/log-view.tsx';
import type { Endpoint } from './endpoint-values.ts';

export function EndpointLogs({ endpoint, snapshot }: { endpoint: Endpoint; snapshot: EndpointSnapshot | undefined }) {
  const [search, setSearch] = useSearchParams();
  const workers = snapshot?.workers ?? [];
  const chosen = search.get('worker') ?? workers.at(-1)?.id ?? null;
  const ids = [...new Set([...workers.map(({ id }) => id), ...(chosen ? [chosen] : [])])];
  const label = (id: string) => `${id} · ${workers.find((worker) => worker.id === id)?.status ?? 'ended'}`;
  return (
    <Stack>
      <Select
        label="Worker"
        maw={340}
        data={ids.map((id) => ({ value: id, label: label(id) }))}
        value={chosen}
        onChange={(id) => id && setSearch({ worker: id }, { replace: true })}
        placeholder="no worker runs"
        allowDeselect={false}
      />
      {chosen ? (
        <LogView path={`/v2/serverless/${endpoint.id}/workers/${chosen}/logs`} />
      ) : (
        <Text size="sm" c="dimmed">
          A worker's log appears here as soon as one starts.
        </Text>
      )}
    </Stack>
  );
}
