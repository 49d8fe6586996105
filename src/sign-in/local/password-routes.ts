/**
 * Signing in with a password (docs/decisions/0117-local-accounts.md). No answer reveals whether an account exists: one that does not is
 * checked for as long, counted as strictly and refused in the same words.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Failure } from '../../core/errors.ts';
import type { UserId } from '../../core/ids.ts';
import { systemActor } from '../../domain/access/actor.ts';
import { parseScope, scopesCover } from '../../domain/access/scopes.ts';
import { hashSecret } from '../../domain/access/secret-hash.ts';
import { findUser } from '../../domain/access/users.ts';
import { change } from '../../domain/change.ts';
import { checkPassword, MAX_PASSWORD_LENGTH } from '../../domain/local-accounts/check-password.ts';
import { findInvitationBySecret } from '../../domain/local-accounts/invitation-store.ts';
import { acceptInvitation, accountSuspended, invitationGone } from '../../domain/local-accounts/invitations.ts';
import { findAccount, findAccountByLogin, isFreshSignIn } from '../../domain/local-accounts/password-store.ts';
import { changePassword, noLocalAccount } from '../../domain/local-accounts/passwords.ts';
import { sendJson } from '../answers.ts';
import { type Sender, senderOf, withSender } from '../sender.ts';
import type { SignInDeps } from '../sign-in-deps.ts';
import { limitTries } from './limit-tries.ts';
import { answerSignedIn, readSession, readTexts, recordRefusedSignIn } from './local-request.ts';

export type Handler = (req: IncomingMessage, res: ServerResponse) => Promise<void>;

const MAX_LOGIN = 320;
const EVERYTHING = ['all', 'exec', 'files:write'].map(parseScope);

/** Routes of the sign-in page, the page of an invitation and the account's page. */
export function passwordRoutes(deps: SignInDeps): Record<string, Handler> {
  return {
    'POST /sign-in/password': (req, res) => signInWithPassword(deps, req, res),
    'POST /sign-in/password/change': (req, res) => replacePassword(deps, req, res),
    'POST /sign-in/invitation': (req, res) => showInvitation(deps, req, res),
    'POST /sign-in/invitation/accept': (req, res) => accept(deps, req, res),
  };
}

async function signInWithPassword(deps: SignInDeps, req: IncomingMessage, res: ServerResponse): Promise<void> {
  const sender = senderOf(deps, req, res);
  const { login, password } = await readTexts(req, ['login', 'password']);
  const account = login.length <= MAX_LOGIN ? await findAccountByLogin(deps.pool, login.trim()) : undefined;
  const ownerId = account?.userId ?? null;
  const attempt = { account: login, ownerId, stored: account?.hash ?? null, password };
  await checkTry(deps, sender, attempt, 'This email or name and this password do not belong together.');
  if (account === undefined || account.isSuspended) throw accountSuspended();
  await answerSignedIn(deps, req, res, { userId: account.userId, madeBy: 'PASSWORD' });
}

/** Checks a password within the limits. Throws `unauthorized` with `refusal`, and writes that to the audit log. */
async function checkTry(
  deps: SignInDeps,
  sender: Sender,
  {
    account,
    ownerId,
    stored,
    password,
  }: { account: string; ownerId: UserId | null; stored: string | null; password: string },
  refusal: string,
): Promise<void> {
  try {
    const succeeded = await limitTries(deps, { account, network: sender.network });
    const isShort = password.length <= 4 * MAX_PASSWORD_LENGTH; // a longer one cannot be right
    const isRight = await deps.hasher.verify(sender.network, isShort ? password : '', isShort ? stored : null);
    if (!isRight) throw new Failure('unauthorized', refusal);
    await succeeded();
  } catch (error) {
    if (error instanceof Failure) {
      const what = error.kind === 'unauthorized' ? 'wrong password' : 'too many wrong passwords';
      const reason = ownerId === null ? `${what}, or no such account` : `${what} of ${ownerId}`; // one entry for each
      await recordRefusedSignIn(deps, sender, { ownerId, reason });
    }
    throw error;
  }
}

/** Shows the user that a link invites, without using it up. */
async function showInvitation(deps: SignInDeps, req: IncomingMessage, res: ServerResponse): Promise<void> {
  const { secret } = await readTexts(req, ['secret']);
  const { name, email, expiresAt } = await readInvitation(deps, senderOf(deps, req, res), secret);
  sendJson(res, 200, { name, email, expiresAt: expiresAt.toISOString() });
}

async function accept(deps: SignInDeps, req: IncomingMessage, res: ServerResponse): Promise<void> {
  const sender = senderOf(deps, req, res);
  const { secret, password } = await readTexts(req, ['secret', 'password']);
  const invited = await readInvitation(deps, sender, secret);
  checkPassword(password, invited);
  const passwordHash = await deps.hasher.hash(sender.network, password);
  const actor = withSender(systemActor(invited.userId), sender);
  await change(deps, actor, acceptInvitation, { id: invited.userId, secret, passwordHash });
  deps.logger.info({ userId: invited.userId, clientAddress: sender.address }, 'invitation accepted');
  await answerSignedIn(deps, req, res, { userId: invited.userId, madeBy: 'PASSWORD' });
}

async function readInvitation(deps: SignInDeps, sender: Sender, secret: string) {
  const invitation = await findInvitationBySecret(deps.pool, hashSecret(secret));
  const user = invitation && (await findUser(deps.pool, invitation.userId));
  if (invitation === undefined || user === undefined) {
    await recordRefusedSignIn(deps, sender, { ownerId: null, reason: 'an invitation that is not valid' });
    throw invitationGone();
  }
  if (user.suspension !== null || user.removingAt !== null) {
    await recordRefusedSignIn(deps, sender, { ownerId: user.id, reason: 'an invitation of a suspended user' });
    throw accountSuspended();
  }
  return { userId: user.id, name: user.name, email: user.email, expiresAt: invitation.expiresAt };
}

async function replacePassword(deps: SignInDeps, req: IncomingMessage, res: ServerResponse): Promise<void> {
  const sender = senderOf(deps, req, res);
  const actor = await readSession(deps, req, sender);
  const { current, password } = await readTexts(req, ['current', 'password']);
  const user = (await findUser(deps.pool, actor.userId))!;
  await proveAgain(deps, actor, sender, current);
  checkPassword(password, user);
  const passwordHash = await deps.hasher.hash(sender.network, password);
  await change(deps, actor, changePassword, { id: user.id, sessionId: actor.sessionId, passwordHash });
  deps.logger.info({ userId: user.id, sessionId: actor.sessionId }, 'password changed');
  sendJson(res, 200, {});
}

/**
 * Changing a way to sign in requires the password, or a sign-in within the last ten minutes that permits everything: neither a browser that
 * was left open nor the session of a narrow key is enough. Throws `conflict` without a local account.
 */
export async function proveAgain(
  deps: SignInDeps,
  actor: Awaited<ReturnType<typeof readSession>>,
  sender: Sender,
  current: string,
): Promise<void> {
  const account = await findAccount(deps.pool, actor.userId);
  if (account === undefined) throw noLocalAccount();
  if (current === '' && (await isProvenAlready(deps, actor))) return;
  if (current === '') {
    throw new Failure('forbidden', 'Give your password: you signed in more than ten minutes ago, or with a key.');
  }
  const attempt = { account: account.userId, ownerId: account.userId, stored: account.hash, password: current };
  await checkTry(deps, sender, attempt, 'This is not your password.').catch((error: unknown) => {
    // A 401 would sign the page out.
    throw error instanceof Failure && error.kind === 'unauthorized' ? new Failure('forbidden', error.message) : error;
  });
}

/** True for a session that permits everything, for ten minutes after a sign-in without a key. */
export async function isProvenAlready(
  { pool }: SignInDeps,
  { scopes, sessionId }: Awaited<ReturnType<typeof readSession>>,
): Promise<boolean> {
  return EVERYTHING.every((scope) => scopesCover(scopes, scope)) && (await isFreshSignIn(pool, sessionId));
}
