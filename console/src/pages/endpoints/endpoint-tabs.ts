import type { ComponentType } from 'react';
import { lazyPart } from '../../ui/lazy-part.ts';
import type { EndpointTabProps } from './endpoint-tab-props.ts';

export interface EndpointTab {
  /** The last part of the path: `/endpoints/<id>/<value>`. What a tab filters by is in the query: `?worker=…`. */
  value: string;
  label: string;
  Panel: ComponentType<EndpointTabProps>;
  /** Load-balancing endpoints have no jobs. */
  isForJobs?: true;
}

/** The tabs of an endpoint's page, from left to right. Each is a file that is loaded when the tab is first opened. */
export const ENDPOINT_TABS: readonly EndpointTab[] = [
  tab('live', 'Live', () => import('./overview/endpoint-live.tsx'), 'EndpointLive'),
  tab('request', 'Request', () => import('./requests/request-panel.tsx'), 'RequestPanel'),
  { ...tab('jobs', 'Jobs', () => import('./jobs/jobs.tsx'), 'Jobs'), isForJobs: true },
  { ...tab('batches', 'Batches', () => import('./batches/batches.tsx'), 'Batches'), isForJobs: true },
  tab('releases', 'Releases', () => import('./releases/releases.tsx'), 'Releases'),
  tab('models', 'Models', () => import('../models/endpoint-models.tsx'), 'EndpointModels'),
  tab('builds', 'Builds', () => import('../builds/endpoint-builds.tsx'), 'EndpointBuilds'),
  tab('logs', 'Logs', () => import('./logs/endpoint-logs.tsx'), 'EndpointLogs'),
  tab('terminal', 'Terminal', () => import('./endpoint-terminal.tsx'), 'EndpointTerminal'),
  tab('decisions', 'Decisions', () => import('./workers/decisions.tsx'), 'Decisions'),
  tab('settings', 'Settings', () => import('./settings/settings.tsx'), 'Settings'),
];

function tab<Name extends string>(
  value: string,
  label: string,
  load: () => Promise<Record<Name, ComponentType<EndpointTabProps>>>,
  name: Name,
): EndpointTab {
  return { value, label, Panel: lazyPart(load, name) };
}
