import type { EndpointTabProps } from './endpoint-tab-props.ts';
import { HttpPanel } from './http-panel.tsx';
import { JobPanel } from './job-panel.tsx';

/** Sends a job or an HTTP request, and shows the same call as code. */
export function RequestPanel({ endpoint }: EndpointTabProps) {
  return endpoint.type === 'LOAD_BALANCING' ? <HttpPanel endpoint={endpoint} /> : <JobPanel endpoint={endpoint} />;
}
