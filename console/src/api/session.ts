import { useSyncExternalStore } from 'react';

/**
 * The browser's session. Its cookie is out of reach for scripts; what is kept here is the other half, `<id>.<token>`, which all tabs
 * of this origin share. Neither opens anything alone (docs/interface/sessions.md, "Requests").
 */
const STORAGE_KEY = 'podyard-session';
/** How a provider's sign-in comes back: `#signed-in=<id>.<token>&to=<path>`. */
const RETURN = /^#signed-in=([a-z0-9]+\.[\w-]+)(?:&to=([^&]*))?$/;

/**
 * The previous session, until the server has accepted the one in the address. Anyone can make such a link: an invalid one must not sign out
 * the reader.
 */
let former: string | null = null;
let session: string | null = takeReturned() ?? localStorage.getItem(STORAGE_KEY);
/** Why the server ended the last session; null after a regular sign-out. */
let endedBecause: string | null = null;
const listeners = new Set<() => void>();

function notifyListeners(): void {
  for (const listener of listeners) listener();
}

// Another tab has signed in or out.
window.addEventListener('storage', ({ key, newValue }) => {
  if (key !== STORAGE_KEY && key !== null) return;
  session = key === null ? null : newValue;
  former = null;
  endedBecause = null;
  notifyListeners();
});

/** Takes the session that the address holds, and replaces it in the history with the page that was asked for. */
function takeReturned(): string | null {
  const [, returned, to = ''] = RETURN.exec(location.hash) ?? [];
  if (returned === undefined) return null;
  history.replaceState(null, '', `#${pageOf(to)}`);
  former = localStorage.getItem(STORAGE_KEY);
  if (former === null) localStorage.setItem(STORAGE_KEY, returned);
  return returned;
}

function pageOf(to: string): string {
  try {
    return decodeURIComponent(to);
  } catch {
    return '/'; // no server made this address
  }
}

/** Stores the session, which the server has accepted, for all tabs. */
export function keepSession(): void {
  if (former === null || session === null) return;
  former = null;
  localStorage.setItem(STORAGE_KEY, session);
}

/** The header that goes with the session's cookie. */
export function sessionHeaders(): Record<string, string> {
  return session === null ? {} : { 'x-podyard-session': session };
}

export function signIn({ id, token }: { id: string; token: string }): void {
  session = `${id}.${token}`;
  former = null;
  endedBecause = null;
  localStorage.setItem(STORAGE_KEY, session);
  notifyListeners();
}

/** Forgets the session here. `reason`: why the server ended it. */
export function forgetSession(reason: string | null = null): void {
  if (former !== null) {
    location.reload(); // with the previous session, which is still stored
    return;
  }
  session = null;
  endedBecause = reason;
  localStorage.removeItem(STORAGE_KEY);
  notifyListeners();
}

export function useSession(): { isSignedIn: boolean; endedBecause: string | null } {
  return {
    isSignedIn: useSyncExternalStore(subscribe, () => session !== null),
    endedBecause: useSyncExternalStore(subscribe, () => endedBecause),
  };
}

/**
 * Calls `listener` at each sign-out, however it came about, once: what the page for signing in has begun to read by the time other
 * requests are refused is not of the session that ended.
 */
export function onSignedOut(listener: () => void): void {
  let wasSignedIn = session !== null;
  subscribe(() => {
    const isOut = wasSignedIn && session === null;
    wasSignedIn = session !== null;
    if (isOut) listener();
  });
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
