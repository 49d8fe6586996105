import {
  type Icon,
  IconAdjustments,
  IconBell,
  IconBox,
  IconBrain,
  IconBrandDocker,
  IconChartBar,
  IconCpu,
  IconDatabase,
  IconGauge,
  IconHammer,
  IconHistory,
  IconKey,
  IconLock,
  IconServerBolt,
  IconTemplate,
  IconTerminal2,
  IconTopologyRing3,
  IconUsers,
  IconUsersGroup,
  IconWorld,
} from '@tabler/icons-react';
import type { ComponentType } from 'react';

/** A page and the script that has it: router, menu and palette are made from these rows. */
interface Part {
  /** Behind `#`. */
  path: string;
  load: () => Promise<Record<string, ComponentType>>;
  /** The page's export in that script. */
  name: string;
}

/** Creates a record: leads to a form. */
export interface Creation {
  label: string;
  to: string;
  keywords: string;
  isForAdmins?: true;
}

/** A page that people go to by its name. */
export interface NamedPage extends Part {
  label: string;
  icon: Icon;
  /** Its place in the side bar; `null`: above the groups. Without one, it is reached by the account switch. */
  group?: MenuGroup;
  /** Other words that people search for. */
  keywords: string;
  /** Others are not shown it; the server decides. */
  isForAdmins?: true;
  creates?: readonly Creation[];
}

/** The page of one record, which is found by the record's name. */
export interface RecordPage extends Part {
  path: `${string}:${string}`;
  label?: never;
}

/** A form with a page of its own: one of the `creates` of another page. */
export interface FormPage extends Part {
  isForm: true;
  label?: never;
}

export type MenuGroup = 'Run' | 'Ship' | 'Data' | 'Account' | 'Installation' | null;
export const MENU_GROUPS: readonly MenuGroup[] = [null, 'Run', 'Ship', 'Data', 'Account', 'Installation'];

/** Every page inside the frame, in the order of the side bar. */
export const PAGES: readonly (NamedPage | RecordPage | FormPage)[] = [
  {
    path: '/',
    ...part(() => import('../pages/overview/overview.tsx'), 'OverviewPage'),
    label: 'Overview',
    icon: IconGauge,
    group: null,
    keywords: 'home dashboard attention',
  },
  {
    path: '/endpoints',
    ...part(() => import('../pages/endpoints/list/endpoints.tsx'), 'EndpointsPage'),
    label: 'Endpoints',
    icon: IconServerBolt,
    group: 'Run',
    keywords: 'serverless workers jobs',
    creates: [{ label: 'Create endpoint…', to: '/endpoints/new', keywords: 'new deploy' }],
  },
  {
    path: '/endpoints/new',
    ...part(() => import('../pages/endpoints/settings/new-endpoint.tsx'), 'NewEndpointPage'),
    isForm: true,
  },
  { path: '/endpoints/:id/:tab?', ...part(() => import('../pages/endpoints/endpoint.tsx'), 'EndpointPage') },
  {
    path: '/pods',
    ...part(() => import('../pages/pods/pods.tsx'), 'PodsPage'),
    label: 'Pods',
    icon: IconBox,
    group: 'Run',
    keywords: 'containers notebooks',
    creates: [{ label: 'Create pod…', to: '/pods/new', keywords: 'new notebook' }],
  },
  { path: '/pods/new', ...part(() => import('../pages/pods/new-pod.tsx'), 'NewPodPage'), isForm: true },
  { path: '/pods/:id/:tab?', ...part(() => import('../pages/pods/pod.tsx'), 'PodPage') },
  {
    path: '/clusters',
    ...part(() => import('../pages/clusters/clusters.tsx'), 'ClustersPage'),
    label: 'Clusters',
    icon: IconTopologyRing3,
    group: 'Run',
    keywords: 'training',
    creates: [{ label: 'Create cluster…', to: '/clusters/new', keywords: 'new training' }],
  },
  { path: '/clusters/new', ...part(() => import('../pages/clusters/new-cluster.tsx'), 'NewClusterPage'), isForm: true },
  { path: '/clusters/:id', ...part(() => import('../pages/clusters/cluster.tsx'), 'ClusterPage') },
  {
    path: '/builds',
    ...part(() => import('../pages/builds/builds.tsx'), 'BuildsPage'),
    label: 'Builds',
    icon: IconHammer,
    group: 'Ship',
    keywords: 'images deploy folder git',
  },
  { path: '/builds/:id', ...part(() => import('../pages/builds/build.tsx'), 'BuildPage') },
  {
    path: '/templates',
    ...part(() => import('../pages/templates/templates.tsx'), 'TemplatesPage'),
    label: 'Templates',
    icon: IconTemplate,
    group: 'Ship',
    keywords: 'presets',
    creates: [{ label: 'Create template…', to: '/templates?new', keywords: 'new' }],
  },
  {
    path: '/registries',
    ...part(() => import('../pages/registries.tsx'), 'RegistriesPage'),
    label: 'Registries',
    icon: IconBrandDocker,
    group: 'Ship',
    keywords: 'images credentials docker',
    creates: [{ label: 'Add registry…', to: '/registries?new', keywords: 'new create credentials' }],
  },
  {
    path: '/models',
    ...part(() => import('../pages/models/models.tsx'), 'ModelsPage'),
    label: 'Models',
    icon: IconBrain,
    group: 'Data',
    keywords: 'weights hugging face cache pin fetch',
    creates: [
      { label: 'Deploy a model…', to: '/models/deploy', keywords: 'new create hugging face endpoint' },
      { label: 'Fetch a model ahead…', to: '/models?new', keywords: 'new download' },
    ],
  },
  {
    path: '/models/deploy',
    ...part(() => import('../pages/models/deploy-model.tsx'), 'DeployModelPage'),
    isForm: true,
  },
  {
    path: '/volumes',
    ...part(() => import('../pages/volumes.tsx'), 'VolumesPage'),
    label: 'Volumes',
    icon: IconDatabase,
    group: 'Data',
    keywords: 'network storage disk files',
    creates: [{ label: 'Create network volume…', to: '/volumes?new', keywords: 'new storage' }],
  },
  { path: '/volumes/:id/files', ...part(() => import('../pages/volume-files/volume-files.tsx'), 'VolumeFilesPage') },
  {
    path: '/secrets',
    ...part(() => import('../pages/secrets/secrets.tsx'), 'SecretsPage'),
    label: 'Secrets',
    icon: IconLock,
    group: 'Data',
    keywords: 'passwords tokens',
    creates: [{ label: 'Create secret…', to: '/secrets?new', keywords: 'new' }],
  },
  {
    path: '/keys',
    ...part(() => import('../pages/keys/keys.tsx'), 'KeysPage'),
    label: 'API keys',
    icon: IconKey,
    group: 'Account',
    keywords: 'tokens ssh passkey password sessions',
    creates: [{ label: 'Create API key…', to: '/keys?new', keywords: 'new token' }],
  },
  {
    path: '/billing',
    ...part(() => import('../pages/billing/billing.tsx'), 'BillingPage'),
    label: 'Billing',
    icon: IconChartBar,
    group: 'Account',
    keywords: 'costs usage budgets csv',
    creates: [{ label: 'Create budget…', to: '/billing?new', keywords: 'new limit cost' }],
  },
  {
    path: '/limits',
    ...part(() => import('../pages/limits/limits.tsx'), 'LimitsPage'),
    label: 'Limits',
    icon: IconAdjustments,
    group: 'Account',
    keywords: 'quotas',
  },
  {
    path: '/notices',
    ...part(() => import('../pages/notices/notices.tsx'), 'NoticesPage'),
    label: 'Notices',
    icon: IconBell,
    group: 'Account',
    keywords: 'alerts email slack teams webhook notifications',
    creates: [{ label: 'Add destination…', to: '/notices?new', keywords: 'new create alert' }],
  },
  {
    path: '/audit',
    ...part(() => import('../pages/audit/audit.tsx'), 'AuditPage'),
    label: 'Audit log',
    icon: IconHistory,
    group: 'Account',
    keywords: 'history who changed security',
  },
  {
    path: '/teams',
    ...part(() => import('../pages/teams/teams.tsx'), 'TeamsPage'),
    label: 'Teams',
    icon: IconUsersGroup,
    keywords: 'members roles sharing',
    creates: [{ label: 'Create team…', to: '/teams?new', keywords: 'new', isForAdmins: true }],
  },
  { path: '/teams/:id', ...part(() => import('../pages/teams/team.tsx'), 'TeamPage') },
  {
    path: '/catalog',
    ...part(() => import('../pages/catalog.tsx'), 'CatalogPage'),
    label: 'Catalog',
    icon: IconCpu,
    group: 'Installation',
    keywords: 'gpus cpus data centers prices',
  },
  {
    path: '/users',
    ...part(() => import('../pages/users/users.tsx'), 'UsersPage'),
    label: 'Users',
    icon: IconUsers,
    group: 'Installation',
    keywords: 'people access admins suspend',
    isForAdmins: true,
    creates: [{ label: 'Create user…', to: '/users?new', keywords: 'new person invite' }],
  },
  {
    path: '/all-endpoints',
    ...part(() => import('../pages/users/all-endpoints.tsx'), 'AllEndpointsPage'),
    label: 'All endpoints',
    icon: IconWorld,
    group: 'Installation',
    keywords: 'everybody accounts teams installation',
    isForAdmins: true,
  },
  {
    path: '/login',
    ...part(() => import('../pages/login/login.tsx'), 'LoginPage'),
    label: 'Sign in on the command line',
    icon: IconTerminal2,
    keywords: 'cli code approve terminal',
  },
  { path: '/users/:id', ...part(() => import('../pages/users/user.tsx'), 'UserPage') },
];

/** Returns what the signed-in user can create, in the order of the pages. */
export function creations(isAdmin: boolean): Creation[] {
  return namedPages(isAdmin).flatMap(({ creates = [] }) => creates.filter((one) => isAdmin || !one.isForAdmins));
}

/** Returns the pages of the signed-in user that have a name: what is for admins only with their role. */
export function namedPages(isAdmin: boolean): NamedPage[] {
  return PAGES.filter((page): page is NamedPage => page.label !== undefined && (isAdmin || !page.isForAdmins));
}

/** Returns the groups of the side bar and their pages. */
export function menuOf(isAdmin: boolean): { title: MenuGroup; pages: NamedPage[] }[] {
  const pages = namedPages(isAdmin);
  return MENU_GROUPS.map((title) => ({ title, pages: pages.filter(({ group }) => group === title) }));
}

function part<Name extends string>(
  load: () => Promise<Record<Name, ComponentType>>,
  name: Name,
): Pick<Part, 'load' | 'name'> {
  return { load: load as Part['load'], name };
}
