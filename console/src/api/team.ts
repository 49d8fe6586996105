import { useSyncExternalStore } from 'react';

const PARAMETER = 'team';

/**
 * The team that this tab acts for, by its id; null: the account of the key. It stands in the URL before the `#`, so that every link inside
 * the console keeps it, and so does a shared link, or one opened in a new tab.
 */
let team: string | null = new URLSearchParams(window.location.search).get(PARAMETER) || null;
const listeners = new Set<() => void>();

export function currentTeam(): string | null {
  return team;
}

/** Acts for another account from the next request on. */
export function switchTeam(id: string | null): void {
  team = id;
  const url = new URL(window.location.href);
  if (id === null) url.searchParams.delete(PARAMETER);
  else url.searchParams.set(PARAMETER, id);
  window.history.replaceState(window.history.state, '', url);
  for (const listener of listeners) listener();
}

export function useTeam(): string | null {
  return useSyncExternalStore(subscribe, currentTeam);
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
