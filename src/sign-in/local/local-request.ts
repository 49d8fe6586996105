import type { IncomingMessage, ServerResponse } from 'node:http';
import { Failure } from '../../core/errors.ts';
import type { UserId } from '../../core/ids.ts';
import type { Actor } from '../../domain/access/actor.ts';
import { insertEntry } from '../../domain/audit/insert-entry.ts';
import { authenticateSession } from '../../http/authenticate.ts';
import { isSameOrigin, namedSession, readSessionSecret, removedSessionCookies } from '../../http/session-cookie.ts';
import { readText, sendJson } from '../answers.ts';
import { beginSession } from '../begin-session.ts';
import { type Sender, withSender } from '../sender.ts';
import type { SignInDeps } from '../sign-in-deps.ts';

/** Reads members of a JSON body, all of them strings. Throws `badRequest`, and `forbidden` for a request of another site. */
export async function readTexts<Name extends string>(
  req: IncomingMessage,
  names: readonly Name[],
): Promise<Record<Name, string>> {
  const body = await readObject(req);
  const wrong = names.find((name) => typeof body[name] !== 'string' || (body[name] as string).includes('\0'));
  if (wrong !== undefined) throw new Failure('badRequest', `${wrong}: must be a string without the character NUL`);
  return body as Record<Name, string>;
}

/** Reads a JSON body that is an object. Throws as `readTexts` does. */
export async function readObject(req: IncomingMessage): Promise<Record<string, unknown>> {
  if (!isSameOrigin(req.headers, false)) {
    throw new Failure('forbidden', 'access denied: the request came from another site');
  }
  if (req.headers['content-type']?.split(';', 1)[0] !== 'application/json') {
    throw new Failure('unsupportedMediaType', 'the body must be application/json');
  }
  try {
    const body: unknown = JSON.parse(await readText(req));
    if (typeof body === 'object' && body !== null && !Array.isArray(body)) return body as Record<string, unknown>;
  } catch (error) {
    if (error instanceof Failure) throw error;
  }
  throw new Failure('badRequest', 'the body must be a JSON object');
}

/** Returns the owner of a request's session. Throws `unauthorized`. */
export async function readSession(
  deps: SignInDeps,
  req: IncomingMessage,
  sender: Sender,
): Promise<Actor & Required<Pick<Actor, 'sessionId'>>> {
  const secret = readSessionSecret(req);
  if (secret === null) throw new Failure('unauthorized', 'sign in first');
  const actor = await authenticateSession(deps.keyRing, secret, req);
  return { ...withSender(actor, sender), sessionId: actor.sessionId! };
}

/** Signs in, and answers with the page's half of the session. The browser's previous session stays valid elsewhere, but not here. */
export async function answerSignedIn(
  deps: SignInDeps,
  req: IncomingMessage,
  res: ServerResponse,
  signedIn: Parameters<typeof beginSession>[3],
): Promise<void> {
  const { secrets, cookie } = await beginSession(deps, req, res, signedIn);
  const former = namedSession(req.headers);
  const removed = former === null ? [] : removedSessionCookies(former);
  sendJson(res, 201, { id: secrets.id, token: secrets.token }, [...removed, cookie]);
}

/**
 * Writes a refused sign-in to the audit log. `ownerId`: the owner of the account; null if there is none, and the entry is for admins. Never
 * throws: the refusal itself is thrown.
 */
export async function recordRefusedSignIn(
  deps: SignInDeps,
  { address, requestId }: Sender,
  { ownerId, reason }: { ownerId: UserId | null; reason: string },
): Promise<void> {
  const entry: Parameters<typeof insertEntry>[1] = {
    ...{ operation: 'session.create', recordId: null, recordName: null, ownerId, outcome: 'refused', reason },
    ...{ actorKind: 'system', actorId: null, keyId: null, sessionId: null, interface: 'console', address, requestId },
    ...{ repeats: 1, changes: null },
  };
  try {
    if (deps.refusals) await deps.refusals.add(entry);
    else await insertEntry(deps.pool, entry);
  } catch (err) {
    deps.logger.debug({ operation: entry.operation, err }, 'a refusal is not in the audit log');
  }
}
