import { createHashRouter } from 'react-router';
import { NotFoundPage, PageError } from './shell/page-error.tsx';
import { Shell } from './shell/shell.tsx';
import { lazyPart } from './ui/lazy-part.ts';

const Overview = lazyPart(() => import('./pages/overview/overview.tsx'), 'OverviewPage');
const loadEndpoints = () => import('./pages/endpoints/list/endpoints.tsx');
const loadEndpoint = () => import('./pages/endpoints/endpoint.tsx');
const Endpoints = lazyPart(loadEndpoints, 'EndpointsPage');
const NewEndpoint = lazyPart(() => import('./pages/endpoints/settings/new-endpoint.tsx'), 'NewEndpointPage');
const EndpointDetail = lazyPart(loadEndpoint, 'EndpointPage');
const Pods = lazyPart(() => import('./pages/pods/pods.tsx'), 'PodsPage');
const NewPod = lazyPart(() => import('./pages/pods/new-pod.tsx'), 'NewPodPage');
const PodDetail = lazyPart(() => import('./pages/pods/pod.tsx'), 'PodPage');
const OpenPod = lazyPart(() => import('./pages/pods/open-pod.tsx'), 'OpenPodPage');
const Builds = lazyPart(() => import('./pages/builds/builds.tsx'), 'BuildsPage');
const BuildDetail = lazyPart(() => import('./pages/builds/build.tsx'), 'BuildPage');
const Clusters = lazyPart(() => import('./pages/clusters/clusters.tsx'), 'ClustersPage');
const NewCluster = lazyPart(() => import('./pages/clusters/new-cluster.tsx'), 'NewClusterPage');
const ClusterDetail = lazyPart(() => import('./pages/clusters/cluster.tsx'), 'ClusterPage');
const Templates = lazyPart(() => import('./pages/templates/templates.tsx'), 'TemplatesPage');
const Secrets = lazyPart(() => import('./pages/secrets/secrets.tsx'), 'SecretsPage');
const Volumes = lazyPart(() => import('./pages/volumes.tsx'), 'VolumesPage');
const VolumeFiles = lazyPart(() => import('./pages/volume-files/volume-files.tsx'), 'VolumeFilesPage');
const Registries = lazyPart(() => import('./pages/registries.tsx'), 'RegistriesPage');
const Catalog = lazyPart(() => import('./pages/catalog.tsx'), 'CatalogPage');
const Keys = lazyPart(() => import('./pages/keys/keys.tsx'), 'KeysPage');
const Models = lazyPart(() => import('./pages/models/models.tsx'), 'ModelsPage');
const DeployModel = lazyPart(() => import('./pages/models/deploy-model.tsx'), 'DeployModelPage');
const Users = lazyPart(() => import('./pages/users/users.tsx'), 'UsersPage');
const UserDetail = lazyPart(() => import('./pages/users/user.tsx'), 'UserPage');
const Teams = lazyPart(() => import('./pages/teams/teams.tsx'), 'TeamsPage');
const TeamDetail = lazyPart(() => import('./pages/teams/team.tsx'), 'TeamPage');
const Limits = lazyPart(() => import('./pages/limits/limits.tsx'), 'LimitsPage');
const Audit = lazyPart(() => import('./pages/audit/audit.tsx'), 'AuditPage');
const Login = lazyPart(() => import('./pages/login/login.tsx'), 'LoginPage');
const Invitation = lazyPart(() => import('./pages/invitation/invitation.tsx'), 'InvitationPage');
const Notices = lazyPart(() => import('./pages/notices/notices.tsx'), 'NoticesPage');
const Billing = lazyPart(() => import('./pages/billing/billing.tsx'), 'BillingPage');

/** Loads the scripts of the pages that most people open next. A failure is not ours: the page loads its script again. */
export function preloadPages(): void {
  for (const load of [loadEndpoints, loadEndpoint]) load().catch(() => {});
}

/** Paths are behind `#`, so that the server needs no rules for them. */
export const router = createHashRouter([
  // Without the frame: whoever is invited is not signed in yet.
  { path: 'invitation/:secret', element: <Invitation />, ErrorBoundary: PageError },
  {
    element: <Shell />,
    ErrorBoundary: PageError,
    // A boundary of its own around the pages: the frame survives them.
    children: [
      {
        ErrorBoundary: PageError,
        children: [
          { index: true, element: <Overview /> },
          { path: 'endpoints', element: <Endpoints /> },
          { path: 'endpoints/new', element: <NewEndpoint /> },
          { path: 'endpoints/:id/:tab?', element: <EndpointDetail /> },
          { path: 'pods', element: <Pods /> },
          { path: 'pods/new', element: <NewPod /> },
          { path: 'pods/:id/:tab?', element: <PodDetail /> },
          { path: 'open-pod', element: <OpenPod /> },
          { path: 'clusters', element: <Clusters /> },
          { path: 'clusters/new', element: <NewCluster /> },
          { path: 'clusters/:id', element: <ClusterDetail /> },
          { path: 'builds', element: <Builds /> },
          { path: 'builds/:id', element: <BuildDetail /> },
          { path: 'models', element: <Models /> },
          { path: 'models/deploy', element: <DeployModel /> },
          { path: 'templates', element: <Templates /> },
          { path: 'secrets', element: <Secrets /> },
          { path: 'volumes', element: <Volumes /> },
          { path: 'volumes/:id/files', element: <VolumeFiles /> },
          { path: 'registries', element: <Registries /> },
          { path: 'catalog', element: <Catalog /> },
          { path: 'keys', element: <Keys /> },
          { path: 'limits', element: <Limits /> },
          { path: 'users', element: <Users /> },
          { path: 'users/:id', element: <UserDetail /> },
          { path: 'teams', element: <Teams /> },
          { path: 'teams/:id', element: <TeamDetail /> },
          { path: 'billing', element: <Billing /> },
          { path: 'login', element: <Login /> },
          { path: 'notices', element: <Notices /> },
          { path: 'audit', element: <Audit /> },
          { path: '*', element: <NotFoundPage /> },
        ],
      },
    ],
  },
]);
