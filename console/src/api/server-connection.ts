import { useSyncExternalStore } from 'react';
import { Connection, probeServer, type Reach } from './connection.ts';

/** The URL this page was loaded from, without a trailing slash. */
export const BASE_URL = new URL('.', document.baseURI).href.replace(/\/$/, '');

/** The connection to the server that this page is from. */
export const connection = new Connection({
  probe: () => probeServer(fetch, BASE_URL),
  now: Date.now,
  sleep: (ms, signal) =>
    new Promise((resolve) => {
      // Consoles that lost the server at the same moment don't all come back at the same one.
      const timer = setTimeout(resolve, ms * (0.75 + Math.random() / 2));
      signal.addEventListener('abort', () => {
        clearTimeout(timer);
        resolve();
      });
    }),
});

// The browser knows at once that its network is gone or back.
window.addEventListener('offline', () => void connection.suspect());
window.addEventListener('online', () => connection.tryNow());

export function useReach(): Reach {
  return useSyncExternalStore(connection.subscribe, connection.reach);
}

/** Resolves after `ms`, or earlier if a lost server is back. */
export function sleepOrRestored(ms: number): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      unsubscribe();
      resolve();
    };
    const timer = setTimeout(done, ms);
    const unsubscribe = connection.onRestored(done);
  });
}
