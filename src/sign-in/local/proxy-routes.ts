import type { IncomingMessage, ServerResponse } from 'node:http';
import { Failure } from '../../core/errors.ts';
import { PODYARD } from '../../domain/access/actor.ts';
import { change } from '../../domain/change.ts';
import { joinIdentity } from '../../domain/sessions/join-identity.ts';
import { readIdentity } from '../claims.ts';
import { senderOf, withSender } from '../sender.ts';
import type { SignInDeps } from '../sign-in-deps.ts';
import { answerSignedIn, readObject, recordRefusedSignIn } from './local-request.ts';
import type { Handler } from './password-routes.ts';
import type { ProxySignIn } from './proxy-sign-in.ts';

/** Routes of the sign-in page behind a proxy that signs people in. */
export function proxyRoutes(deps: SignInDeps, proxy: ProxySignIn): Record<string, Handler> {
  return { 'POST /sign-in/proxy': (req, res) => signInByProxy(deps, proxy, req, res) };
}

/** Signs in the user that the proxy vouches for. Each further request of the session needs the same header or assertion. */
async function signInByProxy(
  deps: SignInDeps,
  proxy: ProxySignIn,
  req: IncomingMessage,
  res: ServerResponse,
): Promise<void> {
  const sender = senderOf(deps, req, res);
  await readObject(req);
  const claims = await proxy.claimsOf(req);
  try {
    if (claims === null) throw new Failure('unauthorized', `${proxy.settings.title} did not say who you are.`);
    const identity = readIdentity(proxy.settings.provider, claims);
    const userId = await change(deps, withSender(PODYARD, sender), joinIdentity, identity);
    const account = {
      provider: proxy.settings.title,
      subject: identity.subject,
      sid: null,
      tokens: null,
      refreshInMs: null,
    };
    await answerSignedIn(deps, req, res, { userId, madeBy: 'PROXY', account });
  } catch (error) {
    const reason = error instanceof Failure ? `proxy: ${error.kind}` : 'proxy';
    await recordRefusedSignIn(deps, sender, { ownerId: null, reason });
    throw error;
  }
}
