import { Select, Stack, Text } from '@mantine/core';
import { useSearchParams } from 'react-router';
import { LogView } from '../../ui/log-view.tsx';
import { useEndedWorkers } from './ended-workers.tsx';
import type { EndpointTabProps } from './endpoint-tab-props.ts';
import { workerOptions } from './worker-options.ts';

/** The log of one worker: the one in the URL, else the newest, else the last that ended. */
export function EndpointLogs(props: EndpointTabProps) {
  const { endpoint, snapshot } = props;
  const ended = useEndedWorkers(props);
  const [search, setSearch] = useSearchParams();
  const { chosen, options } = workerOptions(snapshot?.workers ?? [], search.get('worker'), ended ?? []);
  return (
    <Stack>
      <Select
        label="Worker"
        maw={340}
        data={options}
        value={chosen}
        onChange={(id) => id && setSearch({ worker: id }, { replace: true })}
        placeholder="No workers running"
        allowDeselect={false}
      />
      {chosen ? (
        <LogView path={`/v2/serverless/${endpoint.id}/workers/${chosen}/logs`} />
      ) : (
        <Text size="sm" c="dimmed">
          Logs appear here when a worker starts.
        </Text>
      )}
    </Stack>
  );
}
