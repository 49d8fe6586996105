import { ApiError, readApiError, unreachable } from './api-error.ts';
import { BASE_URL } from './server-connection.ts';
import { forgetSession, sessionHeaders, signIn } from './session.ts';

export interface SignInProvider {
  name: string;
  title: string;
}

/** How people sign in here besides with a key. */
export interface SignInWays {
  providers: SignInProvider[];
  hasPasswords: boolean;
  hasPasskeys: boolean;
  /** The proxy in front of the server has signed the reader in. */
  proxy?: { title: string };
}

/** Makes a session from an API key, which is not kept. Throws ApiError for a key that the server refuses. */
export async function signInWithKey(key: string): Promise<void> {
  const headers = { ...sessionHeaders(), authorization: `Bearer ${key}` };
  signIn((await call('key', { method: 'POST', headers })) as { id: string; token: string });
}

/** Signs in whom the proxy in front of the server has signed in. Throws ApiError. */
export async function signInByProxy(): Promise<void> {
  signIn((await post('proxy', {})) as { id: string; token: string });
}

/** Returns how people can sign in, besides with a key. */
export async function readSignInWays(): Promise<SignInWays> {
  return (await call('providers')) as SignInWays;
}

/** The address at which signing in with a provider begins; it returns to the page of the console that is shown now. */
export function providerUrl({ name }: SignInProvider): string {
  return `${BASE_URL}/sign-in/oidc/${name}?to=${encodeURIComponent(location.hash.slice(1) || '/')}`;
}

/** Ends the session on the server and here, then at the provider that it came from, if it has a page for that. */
export async function signOut(): Promise<void> {
  try {
    const { url } = (await call('out', { method: 'POST', headers: sessionHeaders() })) as { url: string | null };
    forgetSession();
    if (url !== null) location.assign(url);
  } catch (error) {
    // An ended session has nothing to end. If the server is away, its half is still out of reach without ours.
    if (!(error instanceof ApiError)) throw error;
    forgetSession();
  }
}

/** Sends a body as JSON, with the session's header if there is one. Throws ApiError. */
export function post(path: string, body: object): Promise<unknown> {
  const headers = { ...sessionHeaders(), 'content-type': 'application/json' };
  return call(path, { method: 'POST', headers, body: JSON.stringify(body) });
}

/** Throws ApiError. */
export async function call(path: string, init: RequestInit = {}): Promise<unknown> {
  const response = await fetch(`${BASE_URL}/sign-in/${path}`, { ...init, cache: 'no-store' }).catch(() => {
    throw unreachable();
  });
  if (!response.ok) throw await readApiError(response);
  return response.json();
}
