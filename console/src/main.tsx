import '@mantine/core/styles.css';
import '@mantine/notifications/styles.css';
import './console.css';
import { MantineProvider } from '@mantine/core';
import { Notifications } from '@mantine/notifications';
import { MutationCache, QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { setNonce } from 'get-nonce';
import { createRoot } from 'react-dom/client';
import { RouterProvider } from 'react-router';
import { ApiError } from './api/api-error.ts';
import { router } from './router.tsx';
import { theme } from './theme.ts';
import { notifyError } from './ui/notify.ts';

const nonce = document.querySelector('meta[name=csp-nonce]')?.getAttribute('content') ?? '';
setNonce(nonce); // for the style that locks scrolling behind a dialog

const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 5_000,
      // The server's errors are final; an unreachable server may come back.
      retry: (count, error) => !(error instanceof ApiError && error.status > 0) && count < 5,
    },
  },
  mutationCache: new MutationCache({
    onError: (error, _variables, _context, mutation) => {
      if (mutation.meta?.isShownInPlace !== true) notifyError(error);
    },
  }),
});

createRoot(document.getElementById('root')!).render(
  <MantineProvider theme={theme} defaultColorScheme="auto" getStyleNonce={() => nonce}>
    <QueryClientProvider client={queries}>
      <Notifications position="bottom-right" />
      <RouterProvider router={router} />
    </QueryClientProvider>
  </MantineProvider>,
);
