import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Failure } from '../core/errors.ts';
import { PODYARD } from '../domain/access/actor.ts';
import { hashSecret } from '../domain/access/secret-hash.ts';
import { change } from '../domain/change.ts';
import { findUserOfIdentity, useAnswerOnce } from '../domain/sessions/identity-store.ts';
import { type JoinedIdentity, joinIdentity } from '../domain/sessions/join-identity.ts';
import { endSessionsOfAccount } from '../domain/sessions/provider-session-store.ts';
import { readCookie, SECURE_PREFIX, setCookie } from '../http/session-cookie.ts';
import { readForm, redirect, sendJson } from './answers.ts';
import { beginSession, isSecure } from './begin-session.ts';
import { type Claims, readIdentity } from './claims.ts';
import type { BackChannelClient, IdentityClient, Vouched } from './identity-client.ts';
import { takeGroupsAway } from './leave-groups.ts';
import { readLogoutToken } from './logout-token.ts';
import type { Provider } from './read-providers.ts';
import { REFRESH_MS } from './refresh-sessions.ts';
import { senderOf, withSender } from './sender.ts';
import type { SignInDeps } from './sign-in-deps.ts';

/** How long signing in may take at the provider. */
const ATTEMPT_MS = 10 * 60_000;
const ATTEMPT_COOKIE = 'podyard_attempt_';
const ATTEMPT_RECORD = 'sign-in attempt';
/** A page of the console: a path behind its `#`. */
const PAGE = /^\/[\w\-./?=&%:]{0,500}$/;

/** Values that have to match when the browser comes back, sealed in a cookie of that browser. */
interface Attempt {
  provider: string;
  state: string;
  nonce: string;
  verifier: string;
  to: string;
  startedMs: number;
  /** It began behind https: only the cookie that no subdomain can set counts. */
  isHostBound: boolean;
}

/** Sends the browser to the provider. `to`: the page of the console that it returns to. */
export async function startOidc(
  deps: SignInDeps,
  client: IdentityClient,
  req: IncomingMessage,
  res: ServerResponse,
): Promise<void> {
  const base = deps.publicUrlFor(req);
  const query = new URLSearchParams(req.url!.split('?', 2)[1]);
  const wanted = query.get('to') ?? '/';
  const to = PAGE.test(wanted) ? wanted : '/';
  const { name } = client.provider;
  // The provider returns to the public URL, and the cookie below has to be of that host.
  if (new URL(base).host !== req.headers.host && !query.has('moved')) {
    return redirect(res, `${base}/sign-in/oidc/${name}?to=${encodeURIComponent(to)}&moved=1`);
  }
  const secret = () => randomBytes(32).toString('base64url');
  const attempt: Attempt = {
    ...{ provider: name, to, startedMs: Date.now(), isHostBound: isSecure(deps, req) },
    ...{ state: secret(), nonce: secret(), verifier: secret() },
  };
  const url = await client.authorizationUrl(attempt, callbackUrl(base, name));
  const sealed = deps.secretBox.seal(JSON.stringify(attempt), ATTEMPT_RECORD).toString('base64url');
  redirect(res, url.href, [attemptCookie(attempt, sealed, ATTEMPT_MS)]);
}

/** Signs in the user that the provider identifies. The browser's cookie must be of the same attempt, and each answer is used once. */
export async function finishOidc(
  deps: SignInDeps,
  client: IdentityClient,
  req: IncomingMessage,
  res: ServerResponse,
): Promise<void> {
  const base = deps.publicUrlFor(req);
  const { provider } = client;
  const query = req.url!.split('?', 2)[1] ?? '';
  const attempt = readAttempt(deps, req, provider.name, new URLSearchParams(query));
  if (!(await useAnswerOnce(deps.pool, hashSecret(attempt.state)))) throw restart();
  const answer = new URL(`${callbackUrl(base, provider.name)}?${query}`);
  const vouched = await client.redeem(answer, attempt);
  const identity = await readMember(deps, provider, vouched.claims);
  const userId = await change(deps, withSender(PODYARD, senderOf(deps, req, res)), joinIdentity, identity);
  const { secrets, cookie } = await beginSession(deps, req, res, {
    userId,
    madeBy: 'OIDC',
    account: {
      provider: provider.name,
      subject: identity.subject,
      sid: typeof vouched.claims.sid === 'string' ? vouched.claims.sid : null,
      tokens: tokensOf(vouched),
      refreshInMs: vouched.refreshToken === null ? null : REFRESH_MS,
    },
  });
  const gone = attemptCookie(attempt, '', 0);
  // Behind `#`, so that neither a log nor another site sees it; without the cookie it opens nothing.
  redirect(res, `${base}/#signed-in=${secrets.id}.${secrets.token}&to=${encodeURIComponent(attempt.to)}`, [
    gone,
    cookie,
  ]);
}

/** As `readIdentity`; a known user who is refused loses what their groups gave. */
async function readMember(deps: SignInDeps, provider: Provider, claims: Claims): Promise<JoinedIdentity> {
  try {
    return readIdentity(provider, claims);
  } catch (error) {
    if (!(error instanceof Failure) || error.kind !== 'forbidden') throw error;
    const known = await findUserOfIdentity(deps.pool, { issuer: provider.issuer, subject: String(claims.sub) });
    if (known !== undefined) await takeGroupsAway(deps, provider, known);
    throw error;
  }
}

/** Ends the sessions of a user who signed out at the provider (OpenID Connect Back-Channel Logout 1.0). */
export async function logOutFromBehind(
  deps: SignInDeps,
  client: BackChannelClient,
  req: IncomingMessage,
  res: ServerResponse,
): Promise<void> {
  const token = (await readForm(req)).get('logout_token') ?? '';
  const { subject, sid, id } = await readLogoutToken(client, token);
  const { name, issuer } = client.provider;
  if (!(await useAnswerOnce(deps.pool, hashSecret(`${issuer} ${id}`)))) {
    throw new Failure('badRequest', 'logout_token: was used before');
  }
  const reason = `${name} signed the account out`;
  const ended = await endSessionsOfAccount(deps, name, { subject, sid, reason });
  deps.logger.info({ sessions: ended, provider: name }, 'signed out by the provider');
  sendJson(res, 200, {});
}

/** As they are sealed with the session; null if there is nothing to ask with. */
function tokensOf({ refreshToken, idToken }: Pick<Vouched, 'refreshToken' | 'idToken'>): string | null {
  return refreshToken === null && idToken === null ? null : JSON.stringify({ refreshToken, idToken });
}

function readAttempt(deps: SignInDeps, req: IncomingMessage, provider: string, query: URLSearchParams): Attempt {
  const state = query.get('state') ?? '';
  const bound = readCookie(req.headers.cookie, attemptCookieName(state, true));
  const sealed = bound ?? readCookie(req.headers.cookie, attemptCookieName(state, false));
  const attempt = sealed === undefined ? null : openAttempt(deps, sealed);
  if (attempt === null || attempt.state !== state || attempt.provider !== provider) throw restart();
  if (attempt.isHostBound && bound === undefined) throw restart();
  if (Math.abs(Date.now() - attempt.startedMs) > ATTEMPT_MS) throw restart();
  return attempt;
}

function openAttempt({ secretBox }: SignInDeps, sealed: string): Attempt | null {
  try {
    return JSON.parse(secretBox.open(Buffer.from(sealed, 'base64url'), ATTEMPT_RECORD)) as Attempt;
  } catch {
    return null;
  }
}

function restart(): Failure {
  return new Failure(
    'unauthorized',
    'This sign-in was used before, is older than ten minutes, or began in another browser: try again.',
  );
}

function callbackUrl(base: string, provider: string): string {
  return `${base}/sign-in/oidc/${provider}/callback`;
}

function attemptCookie({ state, isHostBound }: Attempt, value: string, maxAgeMs: number): string {
  const path = isHostBound ? '/' : '/sign-in/';
  return setCookie(attemptCookieName(state, isHostBound), value, { isSecure: isHostBound, path, maxAgeMs });
}

/** One for each attempt: two tabs may sign in at once. */
function attemptCookieName(state: string, isHostBound: boolean): string {
  return `${isHostBound ? SECURE_PREFIX : ''}${ATTEMPT_COOKIE}${state.replace(/[^\w-]/g, '').slice(0, 12)}`;
}
