import { UnstyledButton } from '@mantine/core';
import { IconMenu2, IconX } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { Suspense, useEffect, useState } from 'react';
import { Link, Outlet, useBlocker, useLocation } from 'react-router';
import { accountQuery } from '../api/queries.ts';
import { useSession } from '../api/session.ts';
import { useTeam } from '../api/team.ts';
import { hasUnsavedForms } from '../ui/forms/unsaved.ts';
import { lazyPart } from '../ui/lazy-part.ts';
import { Logo } from '../ui/logo.tsx';
import { PageSkeleton } from '../ui/page.tsx';
import { AccountMenu } from './account-menu.tsx';
import { AccountSwitch, TeamMark } from './account-switch.tsx';
import { Notices } from './notices.tsx';
import { menuOf } from './pages.ts';
import { PaletteButton } from './palette-button.tsx';
import { useHeadingFocus } from './use-heading-focus.ts';

const SignIn = lazyPart(() => import('./sign-in.tsx'), 'SignIn');
const LeaveDialog = lazyPart(() => import('./leave-dialog.tsx'), 'LeaveDialog');

/** The frame around every page, or the sign-in form without a session. */
export function Shell() {
  const { isSignedIn } = useSession();
  const team = useTeam();
  const { pathname } = useLocation();
  const [isOpen, setOpen] = useState(false);
  // biome-ignore lint/correctness/useExhaustiveDependencies: opening a page, or another account, closes the menu
  useEffect(() => setOpen(false), [pathname, team]);
  useHeadingFocus();
  if (!isSignedIn) {
    return (
      <Suspense>
        <SignIn />
      </Suspense>
    );
  }
  return (
    <div className="frame">
      <header className="frame-header">
        <UnstyledButton
          className="menu-button"
          aria-label="Menu"
          aria-expanded={isOpen}
          aria-controls="menu"
          onClick={() => setOpen(!isOpen)}
        >
          {isOpen ? <IconX size={20} aria-hidden /> : <IconMenu2 size={20} aria-hidden />}
        </UnstyledButton>
        <Link to="/" className="brand" aria-label="Podyard">
          <Logo />
          <span className="brand-name">Podyard</span>
        </Link>
        <TeamMark />
        <div className="frame-tools">
          <PaletteButton />
          <AccountMenu />
        </div>
      </header>
      <nav id="menu" className="frame-menu" aria-label="Main" data-open={isOpen || undefined}>
        <AccountSwitch />
        <Menu pathname={pathname} />
      </nav>
      <main className="frame-page">
        <LeaveGuard />
        <Notices />
        <Suspense fallback={<PageSkeleton />}>
          <Outlet key={team} />
        </Suspense>
      </main>
    </div>
  );
}

function Menu({ pathname }: { pathname: string }) {
  const isAdmin = useQuery(accountQuery).data?.role === 'ADMIN';
  // biome-ignore lint/correctness/useExhaustiveDependencies: another page is marked, or the menu is longer
  useEffect(() => {
    document.querySelector('.menu-link[data-active]')?.scrollIntoView({ block: 'nearest' });
  }, [pathname, isAdmin]);
  return menuOf(isAdmin).map(({ title, pages }) => (
    <div key={title}>
      {title && <div className="menu-title">{title}</div>}
      {pages.map(({ path, label, icon: Icon }) => (
        <Link
          key={path}
          to={path}
          className="menu-link"
          data-active={isWithin(pathname, path) || undefined}
          aria-current={pathname === path ? 'page' : undefined}
        >
          <Icon size={17} stroke={1.6} aria-hidden />
          {label}
        </Link>
      ))}
    </div>
  ));
}

/** True on a page, and on those of its records. */
function isWithin(pathname: string, page: string): boolean {
  return pathname === page || (page !== '/' && pathname.startsWith(`${page}/`));
}

/** Asks before a page with an unsaved form is left. Another filter or tab of the same page is not leaving. */
function LeaveGuard() {
  const blocker = useBlocker(
    ({ currentLocation, nextLocation }) => currentLocation.pathname !== nextLocation.pathname && hasUnsavedForms(),
  );
  if (blocker.state !== 'blocked') return null;
  return (
    <Suspense>
      <LeaveDialog onStay={blocker.reset} onLeave={blocker.proceed} />
    </Suspense>
  );
}
