import { LazyApp } from '../http/lazy-app.ts';
import type { SignInDeps } from './sign-in-deps.ts';

/** True for a request about signing in (docs/interface/sessions.md). */
export function isSignInPath(url: string): boolean {
  return url.startsWith('/sign-in/');
}

/** What the sign-in page and the providers talk to, loaded at the first request. */
export function lazySignInApp(deps: SignInDeps): LazyApp {
  const load = async () => {
    const { SignInApp } = await import('./sign-in-app.ts');
    return new SignInApp(deps);
  };
  return new LazyApp({ name: 'sign-in', load, logger: deps.logger });
}
