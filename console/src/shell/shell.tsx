import {
  ActionIcon,
  AppShell,
  Burger,
  Button,
  Group,
  Menu,
  Modal,
  NavLink,
  ScrollArea,
  Stack,
  Text,
  UnstyledButton,
  useComputedColorScheme,
  useMantineColorScheme,
} from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { IconBook, IconLogout, IconMoon, IconSun, IconUserCircle } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { Fragment, Suspense, useEffect } from 'react';
import { Link, Outlet, useBlocker, useLocation } from 'react-router';
import { BASE_URL } from '../api/client.ts';
import { accountQuery } from '../api/queries.ts';
import { useSession } from '../api/session.ts';
import { signOut } from '../api/sign-in-calls.ts';
import { useTeam } from '../api/team.ts';
import { discardForms, hasUnsavedForms } from '../ui/forms/unsaved.ts';
import { Logo } from '../ui/logo.tsx';
import { PageSkeleton } from '../ui/page.tsx';
import { Name } from '../ui/text/record-name.tsx';
import { visibleText } from '../ui/text/visible-text.ts';
import { Notices } from './notices.tsx';
import { useMenu } from './pages.ts';
import { PaletteButton } from './palette-button.tsx';
import { SignIn } from './sign-in.tsx';
import { TeamSwitch } from './team-switch.tsx';
import { useHeadingFocus } from './use-heading-focus.ts';

/** The frame around every page, or the sign-in form without a session. */
export function Shell() {
  const { isSignedIn } = useSession();
  const team = useTeam();
  const { pathname } = useLocation();
  const [isOpen, { toggle, close }] = useDisclosure(false);
  // biome-ignore lint/correctness/useExhaustiveDependencies: opening a page closes the menu
  useEffect(close, [pathname]);
  useHeadingFocus();
  if (!isSignedIn) return <SignIn />;
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
            <TeamSwitch />
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
          <Outlet key={team} />
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

/** The color scheme switch, and the menu of the signed-in account. */
function AccountMenu() {
  const { setColorScheme } = useMantineColorScheme();
  const scheme = useComputedColorScheme('light');
  const account = useQuery(accountQuery);
  const other = scheme === 'dark' ? 'light' : 'dark';
  return (
    <Group gap="xs" wrap="nowrap">
      <ActionIcon
        variant="subtle"
        color="gray"
        aria-label={`Switch to ${other} mode`}
        onClick={() => setColorScheme(other)}
      >
        {scheme === 'dark' ? <IconSun size={18} /> : <IconMoon size={18} />}
      </ActionIcon>
      <Menu position="bottom-end" width={200}>
        <Menu.Target>
          <UnstyledButton aria-label={visibleText(`Account ${account.data?.name ?? ''}`)}>
            <Group gap={6} wrap="nowrap">
              <IconUserCircle size={22} stroke={1.6} aria-hidden />
              <Text size="sm" visibleFrom="sm" truncate maw={180}>
                <Name>{account.data?.name ?? ''}</Name>
              </Text>
            </Group>
          </UnstyledButton>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item component="a" href={`${BASE_URL}/docs/`} target="_blank" leftSection={<IconBook size={16} />}>
            Documentation
          </Menu.Item>
          <Menu.Item leftSection={<IconLogout size={16} />} onClick={() => void signOut()}>
            Sign out
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
    </Group>
  );
}

/** Asks before a page with an unsaved form is left. Another filter or tab of the same page is not leaving. */
function LeaveGuard() {
  const blocker = useBlocker(
    ({ currentLocation, nextLocation }) => currentLocation.pathname !== nextLocation.pathname && hasUnsavedForms(),
  );
  const leave = () => blocker.proceed?.();
  const discard = () => {
    discardForms();
    leave();
  };
  return (
    <Modal.Root opened={blocker.state === 'blocked'} onClose={() => blocker.reset?.()}>
      <Modal.Overlay />
      {/* Without a header of Mantine's: a page has one banner. */}
      <Modal.Content aria-label="Unsaved changes">
        <Modal.Body>
          <Stack>
            <Text fw={600}>Leave with unsaved changes?</Text>
            <Text size="sm">They are not saved. What you keep is there when you come back in this tab.</Text>
            <Group justify="flex-end" gap="xs">
              <Button variant="default" onClick={() => blocker.reset?.()} data-autofocus>
                Stay
              </Button>
              <Button variant="default" color="red" onClick={discard}>
                Discard
              </Button>
              <Button onClick={leave}>Keep and leave</Button>
            </Group>
          </Stack>
        </Modal.Body>
      </Modal.Content>
    </Modal.Root>
  );
}
