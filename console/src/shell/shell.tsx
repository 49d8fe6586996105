import { AppShell, Burger, Group, NavLink, ScrollArea } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { Fragment, Suspense, useEffect } from 'react';
import { Link, Outlet, useLocation } from 'react-router';
import { useSession } from '../api/session.ts';
import { Logo } from '../ui/logo.tsx';
import { PageSkeleton } from '../ui/page.tsx';
import { AccountMenu } from './account-menu.tsx';
import { LeaveGuard } from './leave-guard.tsx';
import { Notices } from './notices.tsx';
import { PaletteButton } from './palette-button.tsx';
import { SignIn } from './sign-in.tsx';
import { useHeadingFocus } from './use-heading-focus.ts';
import { useMenu } from './use-menu.ts';

/** The frame around every page, or the sign-in form without a key. */
export function Shell() {
  const { key } = useSession();
  const { pathname } = useLocation();
  const [isOpen, { toggle, close }] = useDisclosure(false);
  // biome-ignore lint/correctness/useExhaustiveDependencies: opening a page closes the menu
  useEffect(close, [pathname]);
  useHeadingFocus();
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
            <Link to="/" className="brand">
              <Logo />
              Podyard
            </Link>
          </Group>
          <Group gap="md" wrap="nowrap">
            <PaletteButton />
            <AccountMenu />
          </Group>
        </Group>
      </AppShell.Header>
      <AppShell.Navbar p="xs" aria-label="Main">
        <Navigation pathname={pathname} />
      </AppShell.Navbar>
      <AppShell.Main>
        <LeaveGuard />
        <Notices />
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
      {useMenu().map(({ title, pages }) => (
        <Fragment key={title}>
          {title && <div className="menu-title">{title}</div>}
          {pages.map(({ to, label, icon: Icon }) => (
            <NavLink
              key={to}
              component={Link}
              to={to}
              label={label}
              leftSection={<Icon size={17} stroke={1.6} aria-hidden />}
              active={to === '/' ? pathname === '/' : pathname.startsWith(to)}
              aria-current={pathname === to ? 'page' : undefined}
            />
          ))}
        </Fragment>
      ))}
    </ScrollArea>
  );
}
