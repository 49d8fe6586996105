import { Loop } from '../core/flow/loop.ts';
import { LazyApp } from '../http/lazy-app.ts';
import type { IdentityClient } from './identity-client.ts';
import { PasswordHasher } from './local/password-hasher.ts';
import type { Provider } from './read-providers.ts';
import type { RefreshDeps, RefreshSessions } from './refresh-sessions.ts';
import type { SignInDeps } from './sign-in-deps.ts';

/** True for a request about signing in (docs/interface/sessions.md). */
export function isSignInPath(url: string): boolean {
  return url.startsWith('/sign-in/');
}

/** The app that the sign-in page and the providers talk to, loaded at the first request. */
export function lazySignInApp(deps: Omit<SignInDeps, 'clients' | 'hasher'>, providers: readonly Provider[]): LazyApp {
  const load = async () => {
    const { SignInApp } = await import('./sign-in-app.ts');
    return new SignInApp({ ...deps, hasher: new PasswordHasher(), clients: await openClients(providers) });
  };
  return new LazyApp({ name: 'sign-in', load, logger: deps.logger });
}

/** Asks providers again about their sessions, once a minute. Starts nothing without a provider. Returns what stops it. */
export function startRefreshing(
  deps: Omit<RefreshDeps, 'clients'>,
  providers: readonly Provider[],
): () => Promise<void> {
  if (providers.length === 0) return async () => {};
  let refresher: RefreshSessions | undefined;
  const loop = new Loop({
    name: 'refresh-sessions',
    tickMs: 60_000,
    logger: deps.logger,
    runOnce: async () => {
      refresher ??= await openRefresher({ ...deps, clients: await openClients(providers) });
      return refresher.runOnce();
    },
  });
  loop.start();
  return () => loop.stop();
}

async function openRefresher(deps: RefreshDeps): Promise<RefreshSessions> {
  const { RefreshSessions } = await import('./refresh-sessions.ts');
  return new RefreshSessions(deps);
}

/** Loads the client, with its library, of each kind of provider in use. */
async function openClients(providers: readonly Provider[]): Promise<Map<string, IdentityClient>> {
  const clients = new Map<string, IdentityClient>();
  for (const provider of providers) clients.set(provider.name, await openClient(provider));
  return clients;
}

async function openClient(provider: Provider): Promise<IdentityClient> {
  if (provider.type === 'github') return new (await import('./github-client.ts')).GithubClient(provider);
  return new (await import('./provider-client.ts')).ProviderClient(provider);
}
