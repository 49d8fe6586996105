import { useSyncExternalStore } from 'react';

const STORED_AS = 'podyard-key';

/**
 * The key of who is signed in: in memory, and in the tab's session storage when the user wants that. Never in an address,
 * never in a cookie.
 */
let key: string | null = sessionStorage.getItem(STORED_AS);
/** Why the last session ended, when it did not end by itself. */
let endedBecause: string | null = null;
const listeners = new Set<() => void>();

function tell(): void {
  for (const listener of listeners) listener();
}

export function currentKey(): string | null {
  return key;
}

export function signIn(newKey: string, isKept: boolean): void {
  key = newKey;
  endedBecause = null;
  if (isKept) sessionStorage.setItem(STORED_AS, newKey);
  tell();
}

export function signOut(reason: string | null = null): void {
  key = null;
  endedBecause = reason;
  sessionStorage.removeItem(STORED_AS);
  tell();
}

export function useSession(): { key: string | null; endedBecause: string | null } {
  const subscribe = (listener: () => void) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  };
  return {
    key: useSyncExternalStore(subscribe, () => key),
    endedBecause: useSyncExternalStore(subscribe, () => endedBecause),
  };
}
