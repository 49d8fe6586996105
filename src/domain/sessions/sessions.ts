/**
 * Sessions of browsers (docs/decisions/0114-sign-in.md). A session has two secrets: one in a cookie that scripts cannot read, one that
 * the page keeps and sends in a header. Each alone opens nothing, so a request that another site makes a browser send, and a program
 * on another port of the same host, which gets the cookie, are both refused.
 */
import { Failure, notFound } from '../../core/errors.ts';
import { newSecret, type SessionId, type UserId } from '../../core/ids.ts';
import type { SecretBox } from '../../core/secret-box.ts';
import { PERMISSIONS } from '../access/permissions.ts';
import { hashSecret } from '../access/secret-hash.ts';
import type { Operation, Tx } from '../change.ts';
import { sealSecret } from '../secrets/seal-secret.ts';
import { recordSessionEnds } from './record-session-ends.ts';
import {
  deleteSession,
  deleteSurplusSessions,
  insertSession,
  lockKeyOfPerson,
  type NewSession,
  type ProviderAccount,
} from './session-store.ts';

const COOKIE_PREFIX = 'pys';
/** Begins a cookie that counts under its protected name alone. */
export const BOUND_COOKIE_PREFIX = 'pyh';
const TOKEN_PREFIX = 'pyp';
/** Limit for one user; the session that was not used for longest ends first. */
const MAX_SESSIONS = 100;

/** The secrets that open a session; stored nowhere. */
export interface SessionSecrets {
  id: SessionId;
  cookie: string;
  token: string;
}

type Wanted = Omit<NewSession, 'id' | 'secretHash' | 'userId' | 'account'> & {
  sessionId: SessionId;
  /** It began behind https, where a browser keeps the cookie from subdomains. */
  isHostBound?: boolean;
  /** With the tokens as they are. */
  account?: ProviderAccount<string> | null;
};

/** Returns the secret of a session as rings know it. */
export function sessionSecret({ cookie, token }: Pick<SessionSecrets, 'cookie' | 'token'>): string {
  return `${cookie}.${token}`;
}

/**
 * Begins a session of `actor.userId`, and returns its secrets. Of more than a hundred, the oldest end. Throws `forbidden` for the
 * key of a worker or a pod, and for one that was revoked meanwhile.
 */
export const createSession: Operation<Tx & { secretBox: SecretBox }, Wanted, SessionSecrets> = {
  name: 'session.create',
  permission: PERMISSIONS.writeAccount,
  async run({ db, bus, secretBox, actor: { userId } }, { sessionId, account = null, isHostBound = false, ...input }) {
    if (input.keyId && !(await lockKeyOfPerson(db, userId, input.keyId))) {
      throw new Failure('forbidden', 'access denied: this key opens no session');
    }
    const cookie = newSecret(isHostBound ? BOUND_COOKIE_PREFIX : COOKIE_PREFIX);
    const secrets = { id: sessionId, cookie, token: newSecret(TOKEN_PREFIX) };
    const ended = await deleteSurplusSessions(db, userId, MAX_SESSIONS - 1);
    await recordSessionEnds(db, ended, `a user has at most ${MAX_SESSIONS} sessions`);
    for (const { id } of ended) bus.publish('session', id);
    const tokens = account?.tokens ? await sealSecret(db, secretBox, account.tokens, secrets.id) : null;
    const secretHash = hashSecret(sessionSecret(secrets));
    await insertSession(db, {
      ...input,
      id: secrets.id,
      userId,
      secretHash,
      account: account && { ...account, tokens },
    });
    return secrets;
  },
  subject: (_, { id }) => id,
};

/** Ends a session: this process refuses it at once, others when they get the hint, at most 10 s later. Throws `notFound`. */
export const endSession: Operation<Tx, { userId: UserId; sessionId: SessionId }, void> = {
  name: 'session.end',
  permission: PERMISSIONS.writeKeys,
  async run({ db, bus }, { userId, sessionId }) {
    if (!(await deleteSession(db, userId, sessionId))) throw notFound('Session');
    bus.publish('session', sessionId);
  },
  subject: ({ sessionId }) => sessionId,
};
