/**
 * Passkeys of local accounts (WebAuthn, docs/decisions/0117-local-accounts.md). A challenge is sealed in a cookie of the browser that
 * asked for it, is answered within five minutes, and is used once on all processes. The relying party is the host of the public URL.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server';
import { Failure, messageOf } from '../../core/errors.ts';
import type { PasskeyId } from '../../core/ids.ts';
import { hashSecret } from '../../domain/access/secret-hash.ts';
import { findUser } from '../../domain/access/users.ts';
import { change } from '../../domain/change.ts';
import { accountSuspended } from '../../domain/local-accounts/invitations.ts';
import {
  findPasskey,
  listPasskeys,
  type StoredPasskey,
  updatePasskeyUsed,
} from '../../domain/local-accounts/passkey-store.ts';
import { createPasskey, removePasskey, renamePasskey } from '../../domain/local-accounts/passkeys.ts';
import { findAccount } from '../../domain/local-accounts/password-store.ts';
import { useAnswerOnce } from '../../domain/sessions/identity-store.ts';
import { readCookie, setCookie } from '../../http/session-cookie.ts';
import { sendJson } from '../answers.ts';
import { isSecure } from '../begin-session.ts';
import { senderOf } from '../sender.ts';
import type { SignInDeps } from '../sign-in-deps.ts';
import { limitTries } from './limit-tries.ts';
import { answerSignedIn, readObject, readSession, readTexts, recordRefusedSignIn } from './local-request.ts';
import { type Handler, isProvenAlready, proveAgain } from './password-routes.ts';

const CHALLENGE_MS = 5 * 60_000;
const CHALLENGE_COOKIE = 'podyard_passkey';
const CHALLENGE_RECORD = 'passkey challenge';
/** EdDSA, ES256 and RS256, by their numbers in COSE: what authenticators have. */
const ALGORITHMS = [-8, -7, -257];
const MAX_NAME = 100;

/** A value that has to match when the browser answers. `for`: the user who adds a passkey, or null for signing in. */
interface Challenge {
  challenge: string;
  for: string | null;
  startedMs: number;
}

/** Routes of the sign-in page and the account's page. */
export function passkeyRoutes(deps: SignInDeps): Record<string, Handler> {
  return {
    'GET /sign-in/account': (req, res) => showAccount(deps, req, res),
    'POST /sign-in/passkey/options': (req, res) => beginSignIn(deps, req, res),
    'POST /sign-in/passkey': (req, res) => finishSignIn(deps, req, res),
    'POST /sign-in/passkeys/options': (req, res) => beginAdding(deps, req, res),
    'POST /sign-in/passkeys': (req, res) => finishAdding(deps, req, res),
    'POST /sign-in/passkeys/rename': (req, res) => rename(deps, req, res),
    'POST /sign-in/passkeys/remove': (req, res) => remove(deps, req, res),
  };
}

/** Shows how the reader signs in here without a provider. `isProven`: what changes that takes no password now. */
async function showAccount(deps: SignInDeps, req: IncomingMessage, res: ServerResponse): Promise<void> {
  const actor = await readSession(deps, req, senderOf(deps, req, res));
  const account = await findAccount(deps.pool, actor.userId);
  const passkeys = await listPasskeys(deps.pool, actor.userId);
  sendJson(res, 200, {
    hasPassword: account !== undefined,
    isProven: await isProvenAlready(deps, actor),
    passkeys: passkeys.map(({ id, name, createdAt, lastUsedAt }) => ({
      ...{ id, name },
      createdAt: createdAt.toISOString(),
      lastUsedAt: lastUsedAt?.toISOString() ?? null,
    })),
  });
}

async function beginSignIn(deps: SignInDeps, req: IncomingMessage, res: ServerResponse): Promise<void> {
  await readObject(req);
  const { generateAuthenticationOptions } = await import('@simplewebauthn/server');
  const options = await generateAuthenticationOptions({ rpID: rpOf(deps, req).id, userVerification: 'required' });
  sendJson(res, 200, options, [challengeCookie(deps, req, { challenge: options.challenge, for: null })]);
}

async function finishSignIn(deps: SignInDeps, req: IncomingMessage, res: ServerResponse): Promise<void> {
  const sender = senderOf(deps, req, res);
  const response = (await readObject(req)) as unknown as AuthenticationResponseJSON;
  const succeeded = await limitTries(deps, { account: null, network: sender.network });
  const passkey = typeof response.id === 'string' ? await findPasskey(deps.pool, response.id) : undefined;
  try {
    const challenge = await takeChallenge(deps, req, null);
    if (passkey === undefined)
      throw new Failure('unauthorized', 'This passkey is not known here: sign in another way.');
    await verifyUse(deps, req, { response, passkey, challenge });
  } catch (error) {
    const reason = error instanceof Failure ? `passkey: ${messageOf(error.cause ?? error)}`.slice(0, 200) : 'passkey';
    await recordRefusedSignIn(deps, sender, { ownerId: passkey?.userId ?? null, reason });
    throw error;
  }
  await succeeded();
  if (passkey.isSuspended) throw accountSuspended();
  await answerSignedIn(deps, req, res, { userId: passkey.userId, madeBy: 'PASSKEY' });
}

/** Checks signature, challenge, origin, user verification and counter. Throws `unauthorized`. */
async function verifyUse(
  deps: SignInDeps,
  req: IncomingMessage,
  { response, passkey, challenge }: { response: AuthenticationResponseJSON; passkey: StoredPasskey; challenge: string },
): Promise<void> {
  const { verifyAuthenticationResponse } = await import('@simplewebauthn/server');
  const { id, origin } = rpOf(deps, req);
  const { credentialId, publicKey, counter } = passkey;
  const { verified, authenticationInfo } = await verifyAuthenticationResponse({
    response,
    expectedChallenge: challenge,
    expectedOrigin: origin,
    expectedRPID: id,
    credential: { id: credentialId, publicKey: new Uint8Array(publicKey), counter },
    requireUserVerification: true,
  }).catch((cause: unknown) => {
    throw notAccepted(cause);
  });
  if (!verified) throw notAccepted();
  if (!(await updatePasskeyUsed(deps.pool, passkey.id, authenticationInfo.newCounter))) {
    throw notAccepted(new Error('its counter did not move on'));
  }
}

async function beginAdding(deps: SignInDeps, req: IncomingMessage, res: ServerResponse): Promise<void> {
  const sender = senderOf(deps, req, res);
  const actor = await readSession(deps, req, sender);
  const { current } = await readTexts(req, ['current']);
  await proveAgain(deps, actor, sender, current);
  const user = (await findUser(deps.pool, actor.userId))!;
  const known = await listPasskeys(deps.pool, user.id);
  const { generateRegistrationOptions } = await import('@simplewebauthn/server');
  const options = await generateRegistrationOptions({
    rpName: 'Podyard',
    rpID: rpOf(deps, req).id,
    userID: new Uint8Array(Buffer.from(user.id)),
    userName: user.email ?? user.name,
    userDisplayName: user.name,
    attestationType: 'none',
    supportedAlgorithmIDs: ALGORITHMS,
    authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
    excludeCredentials: known.map(({ credentialId }) => ({ id: credentialId })),
  });
  sendJson(res, 200, options, [challengeCookie(deps, req, { challenge: options.challenge, for: user.id })]);
}

async function finishAdding(deps: SignInDeps, req: IncomingMessage, res: ServerResponse): Promise<void> {
  const actor = await readSession(deps, req, senderOf(deps, req, res));
  const body = await readObject(req);
  const name = nameIn(body.name);
  const challenge = await takeChallenge(deps, req, actor.userId);
  const { verifyRegistrationResponse } = await import('@simplewebauthn/server');
  const { id: rpId, origin } = rpOf(deps, req);
  const { verified, registrationInfo } = await verifyRegistrationResponse({
    response: (body.response ?? {}) as RegistrationResponseJSON,
    expectedChallenge: challenge,
    expectedOrigin: origin,
    expectedRPID: rpId,
    requireUserVerification: true,
    supportedAlgorithmIDs: ALGORITHMS,
  }).catch((cause: unknown) => {
    throw new Failure('badRequest', 'response: this passkey could not be added: try again', { cause });
  });
  if (!verified) throw new Failure('badRequest', 'response: this passkey could not be added: try again');
  const { id: credentialId, publicKey, counter, transports = [] } = registrationInfo.credential;
  const key = { name, credentialId, publicKey: Buffer.from(publicKey), counter, transports };
  const id = await change(deps, actor, createPasskey, { userId: actor.userId, key });
  sendJson(res, 201, { id });
}

async function rename(deps: SignInDeps, req: IncomingMessage, res: ServerResponse): Promise<void> {
  const actor = await readSession(deps, req, senderOf(deps, req, res));
  const { id, name } = await readTexts(req, ['id', 'name']);
  await change(deps, actor, renamePasskey, { userId: actor.userId, id: id as PasskeyId, name: nameIn(name) });
  sendJson(res, 200, {});
}

async function remove(deps: SignInDeps, req: IncomingMessage, res: ServerResponse): Promise<void> {
  const actor = await readSession(deps, req, senderOf(deps, req, res));
  const { id } = await readTexts(req, ['id']);
  await change(deps, actor, removePasskey, { userId: actor.userId, id: id as PasskeyId });
  sendJson(res, 200, {});
}

/** Browsers sign for the host that people open, whatever the server's own address is. */
function rpOf({ publicUrlFor }: SignInDeps, req: IncomingMessage): { id: string; origin: string } {
  const { hostname, origin } = new URL(publicUrlFor(req));
  return { id: hostname, origin };
}

function challengeCookie(deps: SignInDeps, req: IncomingMessage, asked: Omit<Challenge, 'startedMs'>): string {
  const challenge: Challenge = { ...asked, startedMs: Date.now() };
  const sealed = deps.secretBox.seal(JSON.stringify(challenge), CHALLENGE_RECORD).toString('base64url');
  return setCookie(CHALLENGE_COOKIE, sealed, {
    isSecure: isSecure(deps, req),
    path: '/sign-in/',
    maxAgeMs: CHALLENGE_MS,
  });
}

/** Returns the challenge that this browser was given, once. Throws `unauthorized`; a 403 for a signed-in user. */
async function takeChallenge(deps: SignInDeps, req: IncomingMessage, userId: string | null): Promise<string> {
  const asked = openChallenge(deps, readCookie(req.headers.cookie, CHALLENGE_COOKIE) ?? '');
  const isTimely = asked !== null && Math.abs(Date.now() - asked.startedMs) <= CHALLENGE_MS;
  if (isTimely && asked.for === userId && (await useAnswerOnce(deps.pool, hashSecret(`passkey ${asked.challenge}`)))) {
    return asked.challenge;
  }
  throw new Failure(
    userId === null ? 'unauthorized' : 'forbidden',
    'This was used before, is older than five minutes, or began in another browser: try again.',
  );
}

function openChallenge({ secretBox }: SignInDeps, sealed: string): Challenge | null {
  try {
    return JSON.parse(secretBox.open(Buffer.from(sealed, 'base64url'), CHALLENGE_RECORD)) as Challenge;
  } catch {
    return null;
  }
}

function nameIn(value: unknown): string {
  const name = typeof value === 'string' ? value.trim() : '';
  if (name !== '' && name.length <= MAX_NAME && !name.includes('\0')) return name;
  throw new Failure('badRequest', `name: must have 1 to ${MAX_NAME} characters`);
}

function notAccepted(cause?: unknown): Failure {
  return new Failure('unauthorized', 'This passkey was not accepted: try again, or sign in another way.', { cause });
}
