import { useSyncExternalStore } from 'react';
import { hasUnsavedChanges } from '../ui/forms/unsaved.ts';
import { BASE_URL, connection, sleepOrRestored } from './server-connection.ts';
import { buildOf, decideStale } from './stale-page.ts';

const STORAGE_KEY = 'podyard-reloaded-for';
/** A page that becomes visible asks again after this time. */
const RECHECK_MS = 60_000;
const TIMEOUT_MS = 5_000;
const RETRY_AFTER_MS = [0, 500, 1_000];

/** The name of the script that this page started with. */
export const OWN_BUILD = buildOf(document.head.innerHTML);

let isOffered = false;
let checkedAtMs = performance.now();
const listeners = new Set<() => void>();

/** True while a newer console waits for the user to reload the page. */
export function useOfferedReload(): boolean {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => isOffered,
  );
}

function offer(isNow: boolean): void {
  isOffered = isNow;
  for (const listener of listeners) listener();
}

export function dismissOffer(): void {
  offer(false);
}

/** Compares this page's build with the server's, and reloads a stale page once or offers to. */
async function checkVersion(): Promise<'nothing' | 'reload' | 'offer'> {
  checkedAtMs = performance.now();
  const served = await servedBuild();
  const action = decideStale({
    own: OWN_BUILD,
    served,
    reloadedFor: sessionStorage.getItem(STORAGE_KEY),
    hasUnsavedChanges: hasUnsavedChanges(),
  });
  if (action === 'offer') offer(true);
  if (action === 'reload') {
    sessionStorage.setItem(STORAGE_KEY, served!);
    location.reload();
  }
  return action;
}

async function servedBuild(): Promise<string | null> {
  try {
    const response = await fetch(`${BASE_URL}/`, { cache: 'no-store', signal: AbortSignal.timeout(TIMEOUT_MS) });
    return response.ok ? buildOf(await response.text()) : null;
  } catch {
    return null;
  }
}

/**
 * Loads a part of the console. If that fails, the server is away or has a newer build, or the browser's network changed, which
 * ends all its requests: waits for the server, reloads the page if its build is gone, and tries again. Rejects with the error
 * of the last import if nothing helps.
 */
export async function loadPart<T>(load: () => Promise<T>): Promise<T> {
  for (const pauseMs of RETRY_AFTER_MS) {
    try {
      return await load();
    } catch {
      await connection.suspect();
      if ((await checkVersion()) === 'reload') return new Promise(() => {}); // the page is about to go
      await sleepOrRestored(pauseMs);
    }
  }
  return load();
}

/** Checks the version when a lost server is back, and when the page is shown again. */
export function watchVersion(): void {
  connection.onRestored(() => void checkVersion());
  document.addEventListener('visibilitychange', () => {
    if (document.visibilityState === 'visible' && performance.now() - checkedAtMs > RECHECK_MS) void checkVersion();
  });
}
