import '@mantine/core/styles.css';
import '@mantine/notifications/styles.css';
import './console.css';
import './ui/page.css';
import './ui/text/text.css';
import './shell/shell.css';
import { MantineProvider } from '@mantine/core';
import { MutationCache, QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { setNonce } from 'get-nonce';
import { createRoot } from 'react-dom/client';
import { RouterProvider } from 'react-router';
import { ApiError } from './api/api-error.ts';
import { watchVersion } from './api/page-version.ts';
import { connection } from './api/server-connection.ts';
import { onSignedOut } from './api/session.ts';
import { preloadPages, router } from './router.tsx';
import { theme } from './theme.ts';
import { watchTyping } from './ui/forms/unsaved.ts';
import { notifyError } from './ui/notify.ts';
import { loadToasts, Toasts } from './ui/toasts.tsx';

/** Pages are read for longer than that. */
const PRELOAD_AFTER_MS = 500;

const nonce = document.querySelector('meta[name=csp-nonce]')?.getAttribute('content') ?? '';
setNonce(nonce); // for the style that locks scrolling behind a dialog

const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 5_000,
      // The server's errors are final. A lost server is waited for by the connection, which has all queries read again.
      retry: (count, error) => !(error instanceof ApiError && error.status > 0) && count < 3,
      retryDelay: (count) => 500 * 2 ** count,
      networkMode: 'always', // a server on this machine needs no network
    },
    mutations: { networkMode: 'always' },
  },
  mutationCache: new MutationCache({
    onError: (error, _variables, _context, mutation) => {
      if (mutation.meta?.isShownInPlace !== true) notifyError(error);
    },
  }),
});

connection.onRestored(() => void queries.invalidateQueries());
onSignedOut(() => queries.clear()); // the next user may be another one
watchVersion();
watchTyping();

createRoot(document.getElementById('root')!).render(
  <MantineProvider theme={theme} defaultColorScheme="auto" getStyleNonce={() => nonce}>
    <QueryClientProvider client={queries}>
      <Toasts />
      <RouterProvider router={router} />
    </QueryClientProvider>
  </MantineProvider>,
);

// Not before the first page is there: its own scripts come first.
window.addEventListener('load', () =>
  setTimeout(() => {
    preloadPages();
    loadToasts().catch(() => {});
  }, PRELOAD_AFTER_MS),
);
