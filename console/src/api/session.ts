import { useSyncExternalStore } from 'react';

const STORAGE_KEY = 'podyard-key';

/** The API key in use: in memory and, if the user asks for it, in session storage. Never in a URL or a cookie. */
let key: string | null = sessionStorage.getItem(STORAGE_KEY);
/** Why the server ended the last session; null after a regular sign-out. */
let endedBecause: string | null = null;
const listeners = new Set<() => void>();

function notifyListeners(): void {
  for (const listener of listeners) listener();
}

export function currentKey(): string | null {
  return key;
}

/** True if the key survives a reload of the page. */
export function isKeyKept(): boolean {
  return key === sessionStorage.getItem(STORAGE_KEY);
}

export function signIn(newKey: string, isRemembered: boolean): void {
  key = newKey;
  endedBecause = null;
  if (isRemembered) sessionStorage.setItem(STORAGE_KEY, newKey);
  notifyListeners();
}

export function signOut(reason: string | null = null): void {
  key = null;
  endedBecause = reason;
  sessionStorage.removeItem(STORAGE_KEY);
  notifyListeners();
}

export function useSession(): { key: string | null; endedBecause: string | null } {
  return {
    key: useSyncExternalStore(subscribe, () => key),
    endedBecause: useSyncExternalStore(subscribe, () => endedBecause),
  };
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
