import type { ComponentType, ReactElement } from 'react';
import { createHashRouter, useParams } from 'react-router';
import { NotFoundPage, PageError } from './shell/page-error.tsx';
import { PAGES } from './shell/pages.ts';
import { Shell } from './shell/shell.tsx';
import { lazyPart } from './ui/lazy-part.ts';

/** Where a pod's port sends a browser that is not signed in there; no menu leads to it. */
const OpenPod = lazyPart(() => import('./pages/pods/open-pod.tsx'), 'OpenPodPage');
const Invitation = lazyPart(() => import('./pages/invitation/invitation.tsx'), 'InvitationPage');
/** The pages that most people open next. */
const PRELOADED = ['/endpoints', '/endpoints/:id/:tab?'];

/** Loads the scripts of the pages that most people open next. A failure is not ours: the page loads its script again. */
export function preloadPages(): void {
  for (const { path, load } of PAGES) if (PRELOADED.includes(path)) load().catch(() => {});
}

/** Paths are behind `#`, so that the server needs no rules for them. */
export const router = createHashRouter([
  // Without the frame: an invited user is not signed in yet.
  { path: 'invitation/:secret', element: <Invitation />, ErrorBoundary: PageError },
  {
    element: <Shell />,
    ErrorBoundary: PageError,
    // A boundary of its own around the pages: the frame survives them.
    children: [
      {
        ErrorBoundary: PageError,
        children: [
          ...PAGES.map(({ path, load, name }) => ({ path, element: pageElement(load, name) })),
          { path: 'open-pod', element: <OpenPod /> },
          { path: '*', element: <NotFoundPage /> },
        ],
      },
    ],
  },
]);

function pageElement(load: (typeof PAGES)[number]['load'], name: string): ReactElement {
  return <RecordPart part={lazyPart(load, name)} />;
}

/** Starts afresh with each record: what is open, typed or shown once on the page of one doesn't stay on another's. */
function RecordPart({ part: Part }: { part: ComponentType }) {
  const { id } = useParams();
  return <Part key={id} />;
}
