/**
 * Command lines that sign in (docs/decisions/0118-podyard-login-and-groups.md). A command line gets an API key of its own, once a person
 * has approved it in the console. The key's secret is made when the command line fetches it, and is never in the database or in a URL.
 */
import { createHash, randomInt, timingSafeEqual } from 'node:crypto';
import { clientNetwork } from '../../core/client-address.ts';
import type { Clock } from '../../core/clock.ts';
import { Failure } from '../../core/errors.ts';
import { type KeyId, newId, newSecret } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';
import type { Actor, Origin } from '../access/actor.ts';
import { createApiKey } from '../access/create-api-key.ts';
import type { ApiKey } from '../access/key-store.ts';
import { hashSecret } from '../access/secret-hash.ts';
import { change } from '../change.ts';
import type { Context } from '../context.ts';
import {
  type Approval,
  decideRequest,
  deleteExpiredRequests,
  findPendingRequest,
  findUserOfSession,
  insertApprovedRequest,
  insertPendingRequest,
  type LoginRequest,
  pollRequest,
  takeByCode,
  takeRequest,
} from './login-request-store.ts';
import { findSessionForShare } from './session-store.ts';

const CODE_PREFIX = 'pyl';
/** From the approval until the command line fetches the key. */
const CODE_MS = 5 * 60_000;
/** From the request until a person has typed its code. */
const DEVICE_MS = 10 * 60_000;
const DAY_MS = 86_400_000;
/** Without vowels, so that no words appear, and without what looks alike (RFC 8628, 6.1). 34 bits, for ten minutes. */
const LETTERS = 'BCDFGHJKLMNPQRSTVWXZ';
const CODE_LENGTH = 8;

/** The codes that a machine without a browser shows to its user, and polls with. */
export interface DeviceLogin {
  code: string;
  userCode: string;
  intervalSeconds: number;
  expiresInSeconds: number;
}

/** Begins a login that a person approves by typing a short code. Throws `tooManyRequests` if too many wait. */
export async function beginDeviceLogin(
  db: Db,
  { host, address }: { host: string; address: string },
): Promise<DeviceLogin> {
  await deleteExpiredRequests(db);
  const code = newSecret(CODE_PREFIX);
  const userCode = Array.from({ length: CODE_LENGTH }, () => LETTERS[randomInt(LETTERS.length)]).join('');
  const isStored = await insertPendingRequest(db, {
    ...{ id: newId(), host, address, network: clientNetwork(address), lifetimeMs: DEVICE_MS },
    ...{ codeHash: hashSecret(code), userCodeHash: hashSecret(userCode) },
  });
  if (!isStored) {
    const text = 'too many command lines wait for their approval: approve or deny some, or try again in ten minutes';
    throw new Failure('tooManyRequests', text, { retryAfterSeconds: DEVICE_MS / 1000 });
  }
  const shown = `${userCode.slice(0, 4)}-${userCode.slice(4)}`;
  return { code, userCode: shown, intervalSeconds: 2, expiresInSeconds: DEVICE_MS / 1000 };
}

/** Finds what waits for a code that a person typed, in any case and with or without its hyphen. */
export function findDeviceLogin(db: Db, userCode: string): Promise<LoginRequest | undefined> {
  return findPendingRequest(db, hashSecret(userCode.toUpperCase().replace(/[^A-Z]/g, '')));
}

/** Throws `conflict` if it was decided meanwhile, or has expired. Null: denies it. */
export async function decideDeviceLogin(
  db: Db,
  { id }: LoginRequest,
  approval: Pick<Approval, 'sessionId' | 'days'> | null,
): Promise<void> {
  if (!(await decideRequest(db, id, approval))) {
    throw new Failure('conflict', 'this login was decided meanwhile, or has expired: run `podyard login` again');
  }
}

/** Approves a login whose command line listens on the person's own machine; returns the code that their browser takes there. */
export async function approveLogin(
  db: Db,
  approval: Approval & { challenge: string; address: string },
): Promise<{ code: string }> {
  await deleteExpiredRequests(db);
  const code = newSecret(CODE_PREFIX);
  await insertApprovedRequest(db, { ...approval, id: newId(), codeHash: hashSecret(code), lifetimeMs: CODE_MS });
  return { code };
}

export interface LoginDeps extends Context {
  clock: Clock;
}

/** The key of a command line that is signed in. */
export interface LoggedIn {
  key: ApiKey;
  secret: string;
  userName: string;
}

/**
 * Exchanges a code of a browser for a key. The code is used up, whether the verifier fits or not. Throws `unauthorized` for a code
 * that is unknown, used, older than five minutes, or of another command line, and if the person has signed out since.
 */
export async function redeemLogin(
  deps: LoginDeps,
  { code, verifier }: { code: string; verifier: string },
  origin: Origin,
): Promise<LoggedIn> {
  const approval = await takeByCode(deps.pool, hashSecret(code));
  if (!approval?.isLive || !fits(approval.challenge, verifier)) throw ended();
  return createKey(deps, approval, origin);
}

/** Returns the SHA-256 of a verifier as base64url (RFC 7636, S256). */
export function challengeOf(verifier: string): string {
  return createHash('sha256').update(verifier).digest('base64url');
}

function fits(challenge: string, verifier: string): boolean {
  const [wanted, given] = [Buffer.from(challenge), Buffer.from(challengeOf(verifier))];
  return wanted.length === given.length && timingSafeEqual(wanted, given);
}

/**
 * Asks for the key of a device login; returns how long to wait while it is undecided. Throws `tooManyRequests` if it was asked too early,
 * `forbidden` if a person denied it, `unauthorized` for one that is unknown, was fetched, or has expired.
 */
export async function pollLogin(
  deps: LoginDeps,
  code: string,
  origin: Origin,
): Promise<LoggedIn | { waitSeconds: number }> {
  const request = await pollRequest(deps.pool, hashSecret(code));
  if (request === undefined) throw ended();
  if (request.isEarly) {
    throw new Failure('tooManyRequests', 'this login is asked about too often', {
      retryAfterSeconds: request.pollSeconds,
    });
  }
  if (request.state === 'PENDING') return { waitSeconds: request.pollSeconds };
  const approval = await takeRequest(deps.pool, request.id);
  if (request.state === 'DENIED') throw new Failure('forbidden', 'this login was denied in the console');
  if (approval === undefined) throw ended();
  return createKey(deps, approval, origin);
}

/** Creates the key in the name of the approver, restricted to the scopes, networks and lifetime of their session. */
async function createKey(deps: LoginDeps, { host, sessionId, days }: Approval, origin: Origin): Promise<LoggedIn> {
  const [person, grant] = await Promise.all([
    findUserOfSession(deps.pool, sessionId),
    findSessionForShare(deps.pool, sessionId),
  ]);
  if (person === undefined || grant === undefined) throw ended();
  const { userId, userName } = person;
  const actor: Actor = { userId, keyId: '' as KeyId, sessionId, scopes: grant.scopes, origin };
  const wantedEnd = deps.clock.now() + days * DAY_MS;
  const { key, secret } = await change(deps, actor, createApiKey, {
    userId,
    name: `CLI on ${host}`,
    scopes: grant.scopes,
    expiresAt: new Date(Math.min(wantedEnd, grant.expiresAt?.getTime() ?? wantedEnd)),
    allowedNetworks: grant.allowedNetworks,
  });
  return { key, secret, userName };
}

function ended(): Failure {
  return new Failure('unauthorized', 'this login was used, was given up or has expired: run `podyard login` again');
}
