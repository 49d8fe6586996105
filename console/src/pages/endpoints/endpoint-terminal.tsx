import { Select } from '@mantine/core';
import { useSearchParams } from 'react-router';
import { api, unwrap } from '../../api/client.ts';
import { TerminalPanel } from '../../ui/terminal/terminal-panel.tsx';
import type { EndpointTabProps } from './endpoint-tab-props.ts';

/** A shell in one of the workers. The worker is in the query. */
export function EndpointTerminal({ endpoint: { id }, snapshot }: EndpointTabProps) {
  const [search, setSearch] = useSearchParams();
  const workerId = search.get('worker');
  const live = snapshot?.workers.map((worker) => worker.id) ?? [];
  const choices = workerId === null || live.includes(workerId) ? live : [workerId, ...live];
  const open = () =>
    unwrap(
      api.POST('/v2/serverless/{id}/terminals', { params: { path: { id } }, body: { ...(workerId && { workerId }) } }),
    );
  return (
    <TerminalPanel key={workerId} open={open} isPlaceOf={({ endpointId }) => endpointId === id}>
      <Select
        aria-label="Worker"
        placeholder="A running worker"
        data={choices}
        value={workerId}
        clearable
        w={240}
        onChange={(value) => setSearch(value === null ? {} : { worker: value }, { replace: true })}
      />
    </TerminalPanel>
  );
}
