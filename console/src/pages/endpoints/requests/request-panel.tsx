import { SegmentedControl, Stack } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Suspense } from 'react';
import { useSearchParams } from 'react-router';
import { modelsQuery } from '../../../api/queries.ts';
import { lazyPart } from '../../../ui/lazy-part.ts';
import { RowsSkeleton } from '../../../ui/page.tsx';
import type { EndpointTabProps } from '../endpoint-tab-props.ts';
import type { Endpoint } from '../settings/endpoint-values.ts';
import { modelsOf } from './chat.ts';

const HttpPanel = lazyPart(() => import('./http-panel.tsx'), 'HttpPanel');
const JobPanel = lazyPart(() => import('./job-panel.tsx'), 'JobPanel');
const ChatPanel = lazyPart(() => import('./chat-panel.tsx'), 'ChatPanel');

/** Sends a job, a chat message or an HTTP request, and shows the same call as code. */
export function RequestPanel({ endpoint }: EndpointTabProps) {
  return (
    <Suspense fallback={<RowsSkeleton />}>
      {endpoint.type === 'LOAD_BALANCER' ? <HttpPanel endpoint={endpoint} /> : <QueuePanel endpoint={endpoint} />}
    </Suspense>
  );
}

/** Endpoints whose workers list models can be talked to. */
function QueuePanel({ endpoint }: { endpoint: Endpoint }) {
  const [search, setSearch] = useSearchParams();
  const models = useModels(endpoint);
  if (models.length === 0) return <JobPanel endpoint={endpoint} />;
  const mode = search.get('mode') === 'job' ? 'job' : 'chat';
  return (
    <Stack>
      <SegmentedControl
        aria-label="Kind of request"
        value={mode}
        onChange={(value) => setSearch({ mode: value }, { replace: true })}
        data={[
          { value: 'chat', label: 'OpenAI chat' },
          { value: 'job', label: 'Job' },
        ]}
        w="fit-content"
      />
      {mode === 'chat' ? <ChatPanel endpoint={endpoint} models={models} /> : <JobPanel endpoint={endpoint} />}
    </Stack>
  );
}

/** The models that the endpoint is known to serve. Reading them starts no worker. */
function useModels(endpoint: Endpoint): string[] {
  const { data } = useQuery(modelsQuery);
  return modelsOf(data ?? [], endpoint);
}
