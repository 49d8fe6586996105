import type { IncomingHttpHeaders } from 'node:http';
import { Failure } from '../core/errors.ts';
import type { SessionId } from '../core/ids.ts';
import { BOUND_COOKIE_PREFIX, type SessionSecrets, sessionSecret } from '../domain/sessions/sessions.ts';

/** `<session id>.<token>`, which the console sends with every request (docs/interface/sessions.md, "Requests"). */
export const SESSION_HEADER = 'x-podyard-session';

/** A cookie for each session, so that servers on several ports of one host do not overwrite each other's. */
export const SESSION_COOKIE = 'podyard_';
/** Behind https, browsers refuse this name from a subdomain, from a path and without `Secure`. */
export const SECURE_PREFIX = '__Host-';
const HEADER_VALUE = /^([a-z0-9]{1,40})\.([\w-]{1,100})$/;
const SAFE_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD']);

interface Head {
  readonly method?: string | undefined;
  readonly headers: Readonly<IncomingHttpHeaders>;
}

/**
 * Returns the secret of the session that a request came with; null without the console's header, whatever cookies there are. Throws
 * `unauthorized` if the header is malformed or its cookie is missing, and `forbidden` for a request of another site.
 */
export function readSessionSecret({ method = 'GET', headers }: Head): string | null {
  const named = headers[SESSION_HEADER];
  if (named === undefined) return null;
  const [, id, token] = HEADER_VALUE.exec(String(named)) ?? [];
  const cookie = id === undefined ? undefined : cookieOf(headers.cookie, id);
  if (cookie === undefined) throw sessionEnded();
  if (!isSameOrigin(headers, SAFE_METHODS.has(method))) {
    throw new Failure('forbidden', 'access denied: the request came from another site');
  }
  return sessionSecret({ cookie, token: token! });
}

/** The id that the console's header names. The session need not exist. */
export function namedSession(headers: Readonly<IncomingHttpHeaders>): SessionId | null {
  return (HEADER_VALUE.exec(String(headers[SESSION_HEADER]))?.[1] as SessionId | undefined) ?? null;
}

/** The refusal of a session that is unknown or has ended. */
export function sessionEnded(): Failure {
  return new Failure('unauthorized', 'the session has ended: sign in again');
}

/**
 * True if the page that sent the request is of this server. Browsers say so in `Sec-Fetch-Site`; older ones, and pages over plain http,
 * name the page's origin with everything but GET and HEAD.
 */
export function isSameOrigin(headers: Readonly<IncomingHttpHeaders>, isSafe: boolean): boolean {
  const site = headers['sec-fetch-site'];
  if (site !== undefined) return site === 'same-origin';
  const { origin, host } = headers;
  if (origin === undefined) return isSafe;
  const at = URL.parse(origin)?.host;
  // A page of another site cannot set the second header: it needs a permission that is never given.
  return at !== undefined && (at === host || at === headers['x-forwarded-host']);
}

/** Returns the headers that set a session's cookie. It ends with the session at the latest. */
export function sessionCookie({ id, cookie }: SessionSecrets, isSecure: boolean, maxAgeMs: number): string {
  return setCookie(cookieName(id, isSecure), cookie, { isSecure, path: '/', maxAgeMs });
}

/** Returns the headers that remove a session's cookie, whatever it was set over. */
export function removedSessionCookies(id: SessionId): string[] {
  return [true, false].map((isSecure) => setCookie(cookieName(id, isSecure), '', { isSecure, path: '/', maxAgeMs: 0 }));
}

/** Returns a `Set-Cookie` that scripts cannot read, and that other sites' requests do not carry, except links to this one. */
export function setCookie(
  name: string,
  value: string,
  { isSecure, path, maxAgeMs }: { isSecure: boolean; path: string; maxAgeMs: number },
): string {
  const seconds = Math.floor(maxAgeMs / 1000);
  return `${name}=${value}; Path=${path}; Max-Age=${seconds}; HttpOnly; SameSite=Lax${isSecure ? '; Secure' : ''}`;
}

/** Returns the value of a cookie; undefined without one. */
export function readCookie(cookies: string | undefined, name: string): string | undefined {
  for (const pair of cookies?.split(';') ?? []) {
    const at = pair.indexOf('=');
    if (at >= 0 && pair.slice(0, at).trim() === name) return pair.slice(at + 1).trim();
  }
  return undefined;
}

/**
 * A page of a subdomain can set the plain name. A session that began over https does not count under it; otherwise such a page could sign a
 * user in as another.
 */
function cookieOf(cookies: string | undefined, id: string): string | undefined {
  const plain = () => readCookie(cookies, cookieName(id, false));
  return (
    readCookie(cookies, cookieName(id, true)) ?? (plain()?.startsWith(`${BOUND_COOKIE_PREFIX}_`) ? undefined : plain())
  );
}

function cookieName(id: string, isSecure: boolean): string {
  return `${isSecure ? SECURE_PREFIX : ''}${SESSION_COOKIE}${id}`;
}
