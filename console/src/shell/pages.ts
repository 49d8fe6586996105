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
  IconTopologyRing3,
  IconUsers,
  IconUsersGroup,
} from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { accountQuery } from '../api/queries.ts';

export interface MenuPage {
  to: string;
  label: string;
  icon: Icon;
  /** Other words that people search for. */
  keywords?: string;
  /** Others are not shown it; the server decides. */
  isForAdmins?: true;
}

/** The pages of the menu, by what they are for. */
export const MENU: readonly { title: string | null; pages: readonly MenuPage[] }[] = [
  {
    title: null,
    pages: [
      { to: '/', label: 'Overview', icon: IconGauge, keywords: 'home dashboard' },
      { to: '/endpoints', label: 'Endpoints', icon: IconServerBolt, keywords: 'serverless workers jobs' },
      { to: '/pods', label: 'Pods', icon: IconBox, keywords: 'containers notebooks' },
      { to: '/clusters', label: 'Clusters', icon: IconTopologyRing3, keywords: 'training' },
    ],
  },
  {
    title: 'Resources',
    pages: [
      { to: '/builds', label: 'Builds', icon: IconHammer, keywords: 'images deploy folder git' },
      { to: '/models', label: 'Models', icon: IconBrain, keywords: 'weights hugging face cache pin fetch' },
      { to: '/templates', label: 'Templates', icon: IconTemplate },
      { to: '/secrets', label: 'Secrets', icon: IconLock, keywords: 'passwords tokens' },
      { to: '/volumes', label: 'Volumes', icon: IconDatabase, keywords: 'network storage disk' },
      { to: '/registries', label: 'Registries', icon: IconBrandDocker, keywords: 'images credentials' },
      { to: '/catalog', label: 'Catalog', icon: IconCpu, keywords: 'gpus cpus data centers prices' },
    ],
  },
  {
    title: 'Account',
    pages: [
      { to: '/keys', label: 'API keys', icon: IconKey, keywords: 'tokens ssh' },
      { to: '/limits', label: 'Limits', icon: IconAdjustments, keywords: 'quotas' },
      { to: '/users', label: 'Users', icon: IconUsers, keywords: 'people access admins suspend', isForAdmins: true },
      { to: '/teams', label: 'Teams', icon: IconUsersGroup, keywords: 'members roles sharing' },
      { to: '/billing', label: 'Billing', icon: IconChartBar, keywords: 'costs usage' },
      { to: '/notices', label: 'Notices', icon: IconBell, keywords: 'alerts email slack teams webhook notifications' },
      { to: '/audit', label: 'Audit log', icon: IconHistory, keywords: 'history who changed security' },
    ],
  },
];

/** Returns the menu of the signed-in user: what is for admins only with their role. */
export function useMenu(): typeof MENU {
  const isAdmin = useQuery(accountQuery).data?.role === 'ADMIN';
  if (isAdmin) return MENU;
  return MENU.map(({ title, pages }) => ({ title, pages: pages.filter(({ isForAdmins }) => !isForAdmins) }));
}
