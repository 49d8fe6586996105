import type { ComponentType } from 'react';
import { lazyPart } from '../../ui/lazy-part.ts';
import type { EndpointTabProps } from './endpoint-tab-props.ts';

export interface EndpointSection {
  /** The last part of the path: `/endpoints/<id>/<value>`. What a section filters by is in the query: `?worker=…`. */
  value: string;
  label: string;
  Panel: ComponentType<EndpointTabProps>;
  /** Load-balancing endpoints have no jobs. */
  isForJobs?: true;
}

/** A tab of an endpoint's page. It opens on its first section. */
export interface EndpointTab {
  label: string;
  sections: readonly EndpointSection[];
}

/** The tabs, from left to right. Each section is a file that is loaded when it is first opened. */
export const ENDPOINT_TABS: readonly EndpointTab[] = [
  {
    label: 'Overview',
    sections: [section('overview', 'Overview', () => import('./overview/endpoint-overview.tsx'), 'EndpointOverview')],
  },
  {
    label: 'Requests',
    sections: [
      section('request', 'Send', () => import('./requests/request-panel.tsx'), 'RequestPanel'),
      { ...section('jobs', 'Jobs', () => import('./jobs/jobs.tsx'), 'Jobs'), isForJobs: true },
      { ...section('batches', 'Batches', () => import('./batches/batches.tsx'), 'Batches'), isForJobs: true },
    ],
  },
  {
    label: 'Logs',
    sections: [
      section('logs', 'Logs', () => import('./logs/endpoint-logs.tsx'), 'EndpointLogs'),
      section('decisions', 'Decisions', () => import('./workers/decisions.tsx'), 'Decisions'),
      section('terminal', 'Terminal', () => import('./endpoint-terminal.tsx'), 'EndpointTerminal'),
    ],
  },
  {
    label: 'Releases',
    sections: [
      section('releases', 'Releases', () => import('./releases/releases.tsx'), 'Releases'),
      section('builds', 'Builds', () => import('../builds/endpoint-builds.tsx'), 'EndpointBuilds'),
      section('models', 'Models', () => import('../models/endpoint-models.tsx'), 'EndpointModels'),
    ],
  },
  {
    label: 'Settings',
    sections: [section('settings', 'Settings', () => import('./settings/settings.tsx'), 'Settings')],
  },
];

/** Where sections were under another name; links of that time still lead to them. */
export const FORMER_SECTIONS: Readonly<Record<string, string>> = { live: 'overview' };

/** Returns the tabs that an endpoint has, with the sections that it has. */
export function endpointTabs(type: 'QUEUE' | 'LOAD_BALANCER'): EndpointTab[] {
  return ENDPOINT_TABS.map((tab) => ({
    ...tab,
    sections: tab.sections.filter(({ isForJobs }) => !(isForJobs && type === 'LOAD_BALANCER')),
  }));
}

function section<Name extends string>(
  value: string,
  label: string,
  load: () => Promise<Record<Name, ComponentType<EndpointTabProps>>>,
  name: Name,
): EndpointSection {
  return { value, label, Panel: lazyPart(load, name) };
}
