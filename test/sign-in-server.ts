import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { systemClock } from '../src/core/clock.ts';
import { silentLogger } from '../src/core/logger.ts';
import { KeyRing } from '../src/domain/access/key-ring.ts';
import type { SessionLifetime } from '../src/domain/sessions/session-store.ts';
import type { IdentityClient } from '../src/sign-in/identity-client.ts';
import { PasswordHasher } from '../src/sign-in/local/password-hasher.ts';
import type { ProxySignIn } from '../src/sign-in/local/proxy-sign-in.ts';
import { RefreshSessions } from '../src/sign-in/refresh-sessions.ts';
import { SignInApp } from '../src/sign-in/sign-in-app.ts';
import type { SignInDeps } from '../src/sign-in/sign-in-deps.ts';
import { type RestFixture, startRestApp } from './rest-app.ts';

/** A browser's part of a session, sent with every request. */
export interface BrowserSession {
  id: string;
  cookie: string;
  token: string;
}

/** REST and the sign-in app on one port of this machine. */
export interface SignInServer {
  rest: RestFixture;
  url: string;
  /** Signs in with a key, as the console does. */
  signIn(key: string): Promise<BrowserSession>;
  /** Sends a request as the console does, or with other headers. */
  send(
    path: string,
    options?: { session?: BrowserSession; method?: string; headers?: Record<string, string>; body?: string },
  ): Promise<Response>;
  /** Whom people sign in with. `reload` after a change. */
  clients: Map<string, IdentityClient>;
  reload(): void;
  /** How people sign in without a provider. `reload` after a change. */
  own: { isLocalOn: boolean };
  /** Asks the providers about the sessions that are due. */
  refresh(): Promise<unknown>;
  close(): Promise<void>;
}

const LIFETIME: SessionLifetime = { idleMs: 7 * 86_400_000, maxMs: 30 * 86_400_000 };

/** `proxy`: of a test that has one. */
export async function startSignInServer(proxy: ProxySignIn | null = null): Promise<SignInServer> {
  const rest = await startRestApp({ ...(proxy && { vouchers: proxy }) });
  const { pool } = rest.database;
  const keyRing = new KeyRing({ pool, bus: rest.bus, clock: systemClock, vouchers: proxy });
  const clients = new Map<string, IdentityClient>();
  const own = { isLocalOn: true };
  const deps: SignInDeps = {
    ...{ pool, bus: rest.bus, keyRing, secretBox: rest.secretBox, clients, lifetime: LIFETIME, own, proxy },
    hasher: new PasswordHasher({ memory: 8, passes: 1 }), // as much as it has to be, or tests would take minutes
    logger: silentLogger,
    clock: systemClock,
    facts: { takesSeveralUsers: true },
    trustedProxies: { has: (address) => address === '127.0.0.1' },
    publicUrlFor: () => url,
    podHost: 'localhost',
  };
  let app = new SignInApp(deps);
  const server: Server = createServer((req, res) =>
    req.url!.startsWith('/sign-in/') ? app.routing(req, res) : rest.handle(req, res),
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const send: SignInServer['send'] = (path, { session, method = 'GET', headers, body } = {}) => {
    const own = session === undefined ? {} : headersOf(session, url);
    const type = body === undefined ? {} : { 'content-type': 'application/json' };
    return fetch(`${url}${path}`, {
      method,
      headers: { ...own, ...type, ...headers },
      ...(body && { body }),
      redirect: 'manual',
    });
  };
  return {
    rest,
    url,
    send,
    signIn: async (key) => {
      const response = await send('/sign-in/key', { method: 'POST', headers: { authorization: `Bearer ${key}` } });
      if (response.status !== 201) throw new Error(`answered ${response.status}: ${await response.text()}`);
      const cookie = response.headers.getSetCookie().at(-1)!.split(';', 1)[0]!;
      return { ...((await response.json()) as { id: string; token: string }), cookie };
    },
    clients,
    own,
    reload: () => {
      app = new SignInApp(deps);
    },
    refresh: () => new RefreshSessions(deps).runOnce(),
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      keyRing.close();
      await rest.close();
    },
  };
}

/** Returns the headers that the console, and the browser for it, send with a request. */
export function headersOf({ id, cookie, token }: BrowserSession, origin: string): Record<string, string> {
  return { cookie, origin, 'x-podyard-session': `${id}.${token}` };
}
