import { AppShell, Burger, Group, NavLink, ScrollArea, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import {
  IconAdjustments,
  IconBox,
  IconBrandDocker,
  IconChartBar,
  IconCpu,
  IconDatabase,
  IconGauge,
  IconKey,
  IconLock,
  IconServerBolt,
  IconTemplate,
  IconTopologyRing3,
} from '@tabler/icons-react';
import { Suspense, useEffect } from 'react';
import { Link, Outlet, useLocation } from 'react-router';
import { useSession } from '../api/session.ts';
import { PageSkeleton } from '../ui/page.tsx';
import { AccountMenu } from './account-menu.tsx';
import { SignIn } from './sign-in.tsx';

const PAGES = [
  { to: '/', label: 'Overview', icon: IconGauge },
  { to: '/endpoints', label: 'Endpoints', icon: IconServerBolt },
  { to: '/pods', label: 'Pods', icon: IconBox },
  { to: '/clusters', label: 'Clusters', icon: IconTopologyRing3 },
  { to: '/templates', label: 'Templates', icon: IconTemplate },
  { to: '/secrets', label: 'Secrets', icon: IconLock },
  { to: '/volumes', label: 'Volumes', icon: IconDatabase },
  { to: '/registries', label: 'Registries', icon: IconBrandDocker },
  { to: '/catalog', label: 'Catalog', icon: IconCpu },
  { to: '/keys', label: 'API keys', icon: IconKey },
  { to: '/limits', label: 'Limits', icon: IconAdjustments },
  { to: '/billing', label: 'Billing', icon: IconChartBar },
];

/** The frame around every page, or the sign-in form without a key. */
export function Shell() {
  const { key } = useSession();
  const { pathname } = useLocation();
  const [isOpen, { toggle, close }] = useDisclosure(false);
  // biome-ignore lint/correctness/useExhaustiveDependencies: opening a page closes the menu
  useEffect(close, [pathname]);
  if (key === null) return <SignIn />;
  return (
    <AppShell
      header={{ height: 52 }}
      navbar={{ width: 200, breakpoint: 'sm', collapsed: { mobile: !isOpen } }}
      padding="md"
    >
      <AppShell.Header>
        <Group h="100%" px="md" justify="space-between" wrap="nowrap">
          <Group gap="sm" wrap="nowrap">
            <Burger opened={isOpen} onClick={toggle} hiddenFrom="sm" size="sm" aria-label="Menu" />
            <Text component={Link} to="/" fw={700} size="lg" td="none" c="inherit">
              Podyard
            </Text>
          </Group>
          <AccountMenu />
        </Group>
      </AppShell.Header>
      <AppShell.Navbar p="xs" aria-label="Main">
        <Navigation pathname={pathname} />
      </AppShell.Navbar>
      <AppShell.Main>
        <Suspense fallback={<PageSkeleton />}>
          <Outlet />
        </Suspense>
      </AppShell.Main>
    </AppShell>
  );
}

function Navigation({ pathname }: { pathname: string }) {
  return (
    <ScrollArea>
      {PAGES.map(({ to, label, icon: Icon }) => (
        <NavLink
          key={to}
          component={Link}
          to={to}
          label={label}
          leftSection={<Icon size={18} stroke={1.6} aria-hidden />}
          active={to === '/' ? pathname === '/' : pathname.startsWith(to)}
          aria-current={pathname === to ? 'page' : undefined}
        />
      ))}
    </ScrollArea>
  );
}
