import type { IncomingMessage, ServerResponse } from 'node:http';
import { Failure } from '../core/errors.ts';
import type { SessionId } from '../core/ids.ts';
import { personActor } from '../domain/access/actor.ts';
import { change } from '../domain/change.ts';
import { findLocalWays } from '../domain/local-accounts/password-store.ts';
import { findSessionOrigin } from '../domain/sessions/provider-session-store.ts';
import { endSession } from '../domain/sessions/sessions.ts';
import { authenticate, authenticateSession } from '../http/authenticate.ts';
import { readBearer } from '../http/bearer.ts';
import type { LoadedApp } from '../http/lazy-app.ts';
import { logFailure, newRequestId } from '../http/problem.ts';
import { namedSession, readSessionSecret, removedSessionCookies } from '../http/session-cookie.ts';
import { toFailure } from '../http/to-failure.ts';
import { sendFailure, sendFailurePage, sendJson } from './answers.ts';
import { beginSession } from './begin-session.ts';
import { cliLoginRoutes } from './cli-login-routes.ts';
import { hasBackChannel, type IdentityClient } from './identity-client.ts';
import { recordRefusedSignIn } from './local/local-request.ts';
import { passkeyRoutes } from './local/passkey-routes.ts';
import { passwordRoutes } from './local/password-routes.ts';
import { proxyRoutes } from './local/proxy-routes.ts';
import { finishOidc, logOutFromBehind, startOidc } from './oidc-routes.ts';
import { openPodPort } from './open-pod-port.ts';
import { senderOf, withSender } from './sender.ts';
import type { SignInDeps } from './sign-in-deps.ts';

type Handler = (req: IncomingMessage, res: ServerResponse) => Promise<void>;

/** The routes of one provider. What a browser is sent to answers with pages. */
function oidcRoutes(deps: SignInDeps, client: IdentityClient): Record<string, Handler> {
  const { name: provider } = client.provider;
  const path = `/sign-in/oidc/${provider}`;
  const page =
    (handle: typeof startOidc, isAudited: boolean): Handler =>
    (req, res) =>
      handle(deps, client, req, res).catch(async (error: unknown) => {
        const failure = toFailure(error);
        const err = failure.cause ?? (failure === error ? undefined : error);
        if (err !== undefined) deps.logger.warn({ err, provider }, 'sign-in refused');
        const reason = `${provider}: ${failure.message}`;
        if (isAudited) await recordRefusedSignIn(deps, senderOf(deps, req, res), { ownerId: null, reason });
        sendFailurePage(res, failure, deps.publicUrlFor(req));
      });
  return {
    [`GET ${path}`]: page(startOidc, false),
    [`GET ${path}/callback`]: page(finishOidc, true),
    ...(hasBackChannel(client) && {
      [`POST ${path}/logout`]: (req: IncomingMessage, res: ServerResponse) => logOutFromBehind(deps, client, req, res),
    }),
  };
}

const NO_WAYS = { hasPasswords: false, hasPasskeys: false };

/**
 * Local ways to sign in, beside providers and keys: none before the first user has a password. While the database is away, providers are
 * still shown.
 */
async function localWays({ own, pool }: SignInDeps): Promise<typeof NO_WAYS> {
  return own.isLocalOn ? findLocalWays(pool).catch(() => NO_WAYS) : NO_WAYS;
}

/** Offers the proxy to users it vouches for. If its keys cannot be read, the other ways still work. */
async function proxyWay({ proxy }: SignInDeps, req: IncomingMessage): Promise<{ proxy?: { title: string } }> {
  const subject = await proxy?.subjectOf(req).catch(() => null);
  return subject ? { proxy: { title: proxy!.settings.title } } : {};
}

/** The app that the console's sign-in page, and the providers, talk to. */
export class SignInApp implements LoadedApp {
  readonly #deps: SignInDeps;
  readonly #routes: Record<string, Handler>;

  constructor(deps: SignInDeps) {
    this.#deps = deps;
    this.#routes = {
      ...Object.assign({}, ...[...deps.clients.values()].map((client) => oidcRoutes(deps, client))),
      ...(deps.own.isLocalOn ? { ...passwordRoutes(deps), ...passkeyRoutes(deps) } : {}),
      ...cliLoginRoutes(deps),
      'POST /sign-in/pod': (req, res) => openPodPort(deps, req, res),
      ...(deps.proxy ? proxyRoutes(deps, deps.proxy) : {}),
      'GET /sign-in/providers': async (req, res) => {
        sendJson(res, 200, {
          ...(await localWays(deps)),
          ...(await proxyWay(deps, req)),
          providers: [...deps.clients.values()]
            .map(({ provider }) => provider)
            .map(({ name, title }) => ({ name, title })),
        });
      },
      'POST /sign-in/key': (req, res) => this.#byKey(req, res),
      'POST /sign-in/out': (req, res) => this.#out(req, res),
    };
  }

  routing(req: IncomingMessage, res: ServerResponse): void {
    const requestId = newRequestId();
    res.setHeader('x-request-id', requestId);
    this.#route(req, res).catch((error: unknown) => {
      const failure = toFailure(error);
      if (failure !== error) logFailure(this.#deps.logger, failure, { requestId });
      if (!res.headersSent) sendFailure(res, failure);
    });
  }

  async close(): Promise<void> {}

  async #route(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const path = req.url!.split('?', 1)[0]!;
    const handle = this.#routes[`${req.method} ${path}`];
    if (handle === undefined) throw new Failure('notFound', 'Path not found');
    await handle(req, res);
  }

  /** The key in `Authorization` becomes a session with at most its scopes, which ends with it. */
  async #byKey(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const { keyId, userId } = await authenticate(this.#deps.keyRing, readBearer(req.headers.authorization), req);
    const former = namedSession(req.headers);
    const { secrets, cookie } = await beginSession(this.#deps, req, res, { userId, madeBy: 'KEY', keyId });
    const removed = former === null ? [] : removedSessionCookies(former);
    sendJson(res, 201, { id: secrets.id, token: secrets.token }, [...removed, cookie]);
  }

  /** Ends the session of the request. Its cookie goes in any case. */
  async #out(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const secret = readSessionSecret(req);
    if (secret === null) throw new Failure('unauthorized', 'there is no session to end');
    const { userId, sessionId } = await authenticateSession(this.#deps.keyRing, secret, req);
    const url = await this.#endAtProvider(sessionId!, this.#deps.publicUrlFor(req));
    const actor = withSender(personActor(userId, sessionId!), senderOf(this.#deps, req, res));
    await change(this.#deps, actor, endSession, { userId, sessionId: sessionId! });
    this.#deps.logger.info({ userId, sessionId }, 'signed out');
    sendJson(res, 200, { url }, removedSessionCookies(sessionId!));
  }

  /** Where the provider's own session ends; null if there is none. A provider that is away does not keep the session open. */
  async #endAtProvider(id: SessionId, base: string): Promise<string | null> {
    const { pool, clients, secretBox, logger } = this.#deps;
    const origin = await findSessionOrigin(pool, id);
    const client = origin && clients.get(origin.provider);
    if (client === undefined) return null;
    try {
      const { idToken } = origin!.tokens ? JSON.parse(secretBox.open(origin!.tokens, id)) : { idToken: null };
      return await client.endSessionUrl(idToken, `${base}/`);
    } catch (error) {
      logger.warn({ err: error, sessionId: id }, "the provider's own session goes on");
      return null;
    }
  }
}
