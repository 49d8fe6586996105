/** How the command line signs in: `podyard login` (docs/interface/sessions.md, "The command line"). */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Ajv, type JSONSchemaType } from 'ajv';
import { clientAddress, clientNetwork } from '../core/client-address.ts';
import { type Clock, monotonicClock } from '../core/clock.ts';
import { Failure, notFound } from '../core/errors.ts';
import type { SessionId } from '../core/ids.ts';
import { type Actor, isPermitted, type Origin } from '../domain/access/actor.ts';
import { revokeApiKey } from '../domain/access/create-api-key.ts';
import { GuessLimiter } from '../domain/access/guess-limiter.ts';
import { PERMISSIONS } from '../domain/access/permissions.ts';
import { hashSecret } from '../domain/access/secret-hash.ts';
import { change } from '../domain/change.ts';
import { countTry, uncountTry } from '../domain/local-accounts/try-store.ts';
import type { LoginRequest } from '../domain/sessions/login-request-store.ts';
import {
  approveLogin,
  beginDeviceLogin,
  decideDeviceLogin,
  findDeviceLogin,
  type LoggedIn,
  pollLogin,
  redeemLogin,
} from '../domain/sessions/login-requests.ts';
import { authenticate, authenticateSession, peerOf } from '../http/authenticate.ts';
import { readBearer } from '../http/bearer.ts';
import { newRequestId } from '../http/problem.ts';
import { readSessionSecret } from '../http/session-cookie.ts';
import { readText, sendJson } from './answers.ts';
import type { SignInDeps } from './sign-in-deps.ts';

type Handler = (req: IncomingMessage, res: ServerResponse) => Promise<void>;

/** Wrong codes that a person may type within a quarter of an hour, at all processes. */
const MAX_MISSES = 10;

const ajv = new Ajv({ allErrors: true });
const host = { type: 'string', pattern: '^[ -~]{1,100}$' } as const;
const secret = { type: 'string', minLength: 1, maxLength: 200 } as const;
const days = { type: 'integer', minimum: 1, maximum: 365 } as const;

/** Compiles a body whose members are all required. */
function body<T>(properties: Record<keyof T, object>): (value: unknown) => T {
  const required = Object.keys(properties);
  const schema = { type: 'object', required, properties, additionalProperties: false };
  const validate = ajv.compile<T>(schema as unknown as JSONSchemaType<T>);
  return (value) => {
    if (validate(value)) return value;
    throw new Failure('badRequest', 'the request body is not valid', {
      errors: (validate.errors ?? []).map(({ instancePath, message, params }) =>
        `${instancePath.slice(1) || 'body'}: ${message} ${params.additionalProperty ?? ''}`.trim(),
      ),
    });
  };
}

const asDevice = body<{ host: string }>({ host });
const asUserCode = body<{ userCode: string }>({ userCode: secret });
const asDeviceApproval = body<{ userCode: string; days: number }>({ userCode: secret, days });
const asApproval = body<{ challenge: string; host: string; days: number }>({
  challenge: { type: 'string', pattern: '^[\\w-]{43}$' },
  host,
  days,
});
const asRedemption = body<{ code: string; verifier: string }>({ code: secret, verifier: secret });
const asPoll = body<{ code: string }>({ code: secret });

/** The routes below `/sign-in/cli/`. Those that approve need the session of a page of this server; a key approves nothing. */
export function cliLoginRoutes(deps: SignInDeps, monotonic: Clock = monotonicClock): Record<string, Handler> {
  const guesses = new GuessLimiter(monotonic);
  /** For requests without a session: bounds the refusals of one network per second. */
  const bounded = async <T>(req: IncomingMessage, work: () => Promise<T>): Promise<T> => {
    const end = await guesses.begin(clientNetwork(originOf(deps, req).address));
    let isRefused = true;
    try {
      const result = await work();
      isRefused = false;
      return result;
    } finally {
      end(isRefused);
    }
  };
  const find = async (actor: Actor, userCode: string): Promise<LoginRequest> => {
    const tried = hashSecret(`user code ${actor.userId}`);
    const { tries, restartsInSeconds } = await countTry(deps.pool, tried);
    if (tries > MAX_MISSES) {
      const text = 'too many wrong codes: try again later';
      throw new Failure('tooManyRequests', text, { retryAfterSeconds: restartsInSeconds });
    }
    const found = await findDeviceLogin(deps.pool, userCode);
    if (!found) throw notFound('Login with this code');
    await uncountTry(deps.pool, tried);
    return found;
  };
  return {
    'POST /sign-in/cli/device': async (req, res) => {
      const { host } = asDevice(await readJson(req));
      const { address } = originOf(deps, req);
      sendJson(res, 201, await bounded(req, () => beginDeviceLogin(deps.pool, { host, address })));
    },
    'POST /sign-in/cli/device/find': async (req, res) => {
      const { actor } = await approverOf(deps, req);
      const { userCode } = asUserCode(await readJson(req));
      const { host, address, expiresAt } = await find(actor, userCode);
      sendJson(res, 200, { host, address, expiresAt: expiresAt.toISOString() });
    },
    'POST /sign-in/cli/device/approve': async (req, res) => {
      const { actor, sessionId } = await approverOf(deps, req);
      const { userCode, days } = asDeviceApproval(await readJson(req));
      await decideDeviceLogin(deps.pool, await find(actor, userCode), { sessionId, days });
      sendJson(res, 200, {});
    },
    'POST /sign-in/cli/device/deny': async (req, res) => {
      const { actor } = await approverOf(deps, req);
      const request = await find(actor, asUserCode(await readJson(req)).userCode);
      await decideDeviceLogin(deps.pool, request, null);
      deps.logger.info({ userId: actor.userId, clientAddress: request.address }, 'login denied');
      sendJson(res, 200, {});
    },
    'POST /sign-in/cli/device/token': async (req, res) => {
      const { code } = asPoll(await readJson(req));
      const polled = await bounded(req, () => pollLogin(deps, code, originOf(deps, req)));
      if ('waitSeconds' in polled) sendJson(res, 202, polled);
      else sendKey(deps, req, res, polled);
    },
    'POST /sign-in/cli/approve': async (req, res) => {
      const { sessionId } = await approverOf(deps, req);
      const approval = asApproval(await readJson(req));
      const { address } = originOf(deps, req);
      sendJson(res, 201, await approveLogin(deps.pool, { ...approval, sessionId, address }));
    },
    'POST /sign-in/cli/token': async (req, res) => {
      const redemption = asRedemption(await readJson(req));
      sendKey(deps, req, res, await bounded(req, () => redeemLogin(deps, redemption, originOf(deps, req))));
    },
    'POST /sign-in/cli/out': async (req, res) => {
      const actor = await authenticate(deps.keyRing, readBearer(req.headers.authorization), req);
      const { userId, keyId } = actor;
      // Any key may revoke itself.
      const self: Actor = { ...actor, scopes: [{ kind: 'all' }], origin: originOf(deps, req) };
      await change(deps, self, revokeApiKey, { userId, keyId });
      deps.logger.info({ userId, keyId }, 'command line signed out');
      sendJson(res, 200, {});
    },
  };
}

/** Returns the approver. Throws `unauthorized` without a session, and `forbidden` for one that may make no keys. */
async function approverOf(
  { keyRing }: SignInDeps,
  req: IncomingMessage,
): Promise<{ actor: Actor; sessionId: SessionId }> {
  const secret = readSessionSecret(req);
  if (secret === null) throw new Failure('unauthorized', 'sign in to the console to approve a login');
  const actor = await authenticateSession(keyRing, secret, req);
  if (!isPermitted(actor, PERMISSIONS.writeKeys())) {
    throw new Failure('forbidden', 'access denied: the key that you signed in with may make no keys');
  }
  return { actor, sessionId: actor.sessionId! };
}

function sendKey({ logger }: SignInDeps, req: IncomingMessage, res: ServerResponse, login: LoggedIn): void {
  const { key, secret, userName } = login;
  const clientAddress = req.socket.remoteAddress;
  logger.info({ userId: key.userId, keyId: key.id, clientAddress }, 'command line signed in');
  const expiresAt = key.expiresAt!.toISOString();
  sendJson(res, 201, { key: secret, keyId: key.id, name: key.name, expiresAt, userName });
}

function originOf({ trustedProxies }: SignInDeps, req: IncomingMessage): Origin {
  return { interface: 'cli', address: clientAddress(peerOf(req), trustedProxies), requestId: newRequestId() };
}

async function readJson(req: IncomingMessage): Promise<unknown> {
  const type = (req.headers['content-type'] ?? '').split(';', 1)[0]!.trim();
  // Another site's form cannot send this type without being asked for.
  if (type !== 'application/json') {
    throw new Failure('unsupportedMediaType', 'The request body must be application/json.');
  }
  try {
    return JSON.parse(await readText(req));
  } catch (error) {
    if (error instanceof Failure) throw error;
    throw new Failure('badRequest', 'the request body is not valid JSON');
  }
}
