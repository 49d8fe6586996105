import { type ComponentType, lazy } from 'react';
import { createHashRouter } from 'react-router';
import { NotFoundPage } from './pages/not-found.tsx';
import { Shell } from './shell/shell.tsx';

/** Loads a page's script when it is first opened. */
function page<Name extends string>(load: () => Promise<Record<Name, ComponentType>>, name: Name) {
  return lazy(async () => ({ default: (await load())[name] }));
}

const Overview = page(() => import('./pages/overview/overview.tsx'), 'OverviewPage');
const Endpoints = page(() => import('./pages/endpoints/endpoints.tsx'), 'EndpointsPage');
const NewEndpoint = page(() => import('./pages/endpoints/new-endpoint.tsx'), 'NewEndpointPage');
const EndpointDetail = page(() => import('./pages/endpoints/endpoint.tsx'), 'EndpointPage');
const Pods = page(() => import('./pages/pods/pods.tsx'), 'PodsPage');
const NewPod = page(() => import('./pages/pods/new-pod.tsx'), 'NewPodPage');
const PodDetail = page(() => import('./pages/pods/pod.tsx'), 'PodPage');
const Clusters = page(() => import('./pages/clusters/clusters.tsx'), 'ClustersPage');
const NewCluster = page(() => import('./pages/clusters/new-cluster.tsx'), 'NewClusterPage');
const ClusterDetail = page(() => import('./pages/clusters/cluster.tsx'), 'ClusterPage');
const Templates = page(() => import('./pages/templates/templates.tsx'), 'TemplatesPage');
const Secrets = page(() => import('./pages/secrets/secrets.tsx'), 'SecretsPage');
const Volumes = page(() => import('./pages/volumes/volumes.tsx'), 'VolumesPage');
const Registries = page(() => import('./pages/registries.tsx'), 'RegistriesPage');
const Catalog = page(() => import('./pages/catalog.tsx'), 'CatalogPage');
const Keys = page(() => import('./pages/keys/keys.tsx'), 'KeysPage');
const Limits = page(() => import('./pages/limits/limits.tsx'), 'LimitsPage');
const Billing = page(() => import('./pages/billing/billing.tsx'), 'BillingPage');

/** Paths are behind `#`, so that the server needs no rules for them. */
export const router = createHashRouter([
  {
    element: <Shell />,
    children: [
      { index: true, element: <Overview /> },
      { path: 'endpoints', element: <Endpoints /> },
      { path: 'endpoints/new', element: <NewEndpoint /> },
      { path: 'endpoints/:id/:tab?', element: <EndpointDetail /> },
      { path: 'pods', element: <Pods /> },
      { path: 'pods/new', element: <NewPod /> },
      { path: 'pods/:id/:tab?', element: <PodDetail /> },
      { path: 'clusters', element: <Clusters /> },
      { path: 'clusters/new', element: <NewCluster /> },
      { path: 'clusters/:id', element: <ClusterDetail /> },
      { path: 'templates', element: <Templates /> },
      { path: 'secrets', element: <Secrets /> },
      { path: 'volumes', element: <Volumes /> },
      { path: 'registries', element: <Registries /> },
      { path: 'catalog', element: <Catalog /> },
      { path: 'keys', element: <Keys /> },
      { path: 'limits', element: <Limits /> },
      { path: 'billing', element: <Billing /> },
      { path: '*', element: <NotFoundPage /> },
    ],
  },
]);
