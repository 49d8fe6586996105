import type { IncomingHttpHeaders } from 'node:http';
import {
  findLiveSessions,
  findSessionByPodSecretHash,
  findSessionBySecretHash,
  updateSessionsUsed,
} from '../sessions/session-store.ts';
import { type Actor, useIdOf } from './actor.ts';
import { findKeyBySecretHash, findLiveKeys, updateKeysUsed } from './key-store.ts';
import type { OpenUse, UseEnd } from './key-watch.ts';
import { type RingDeps, type SecretKind, SecretRing } from './secret-ring.ts';
import { TeamRing } from './team-ring.ts';

const KEYS: SecretKind = {
  topics: ['key'],
  find: async (db, secretHash) => {
    const found = await findKeyBySecretHash(db, secretHash);
    if (found === undefined) return undefined;
    const { userId, id: keyId, scopes, restRevision, expiresAt } = found;
    const endsMs = expiresAt?.getTime() ?? Number.POSITIVE_INFINITY;
    return { ...found, actor: { userId, keyId, scopes, restRevision }, keyId: null, endsMs };
  },
  findLive: findLiveKeys,
  updateUsed: updateKeysUsed,
};

const SESSIONS: SecretKind = {
  topics: ['session', 'key'],
  find: findSessionBySecretHash,
  findLive: findLiveSessions,
  updateUsed: updateSessionsUsed,
};

/** Cookies of pods' hosts: each stands for the session that it ends with. */
const POD_SESSIONS: SecretKind = { ...SESSIONS, find: findSessionByPodSecretHash };

/** The key or session of a request, and the account it acts for. */
export type Credential = Pick<Actor, 'keyId' | 'sessionId' | 'userId' | 'personId' | 'actingRole'>;

/** Returns the subject that a proxy in front of the server asserts for a request; null for none. */
export interface Vouchers {
  subjectOf(request: VouchedRequest): Promise<string | null>;
}

interface VouchedRequest {
  readonly headers: Readonly<IncomingHttpHeaders>;
  readonly socket: { readonly remoteAddress?: string | undefined };
}

/** Maps API keys to actors; `sessions` does the same for the sessions of browsers. Watches the ends of both. */
export class KeyRing extends SecretRing {
  readonly sessions: SecretRing;
  /** The same sessions, by the cookies of private pods (`podCookieSecret`). */
  readonly podSessions: SecretRing;
  /** The teams of those whose keys and sessions these are. */
  readonly teams: TeamRing;

  readonly #vouchers: Vouchers | null;

  /** `vouchers`: without them, sessions that a proxy vouched for have ended. */
  constructor({ vouchers = null, ...deps }: RingDeps & { vouchers?: Vouchers | null }) {
    super(KEYS, deps);
    this.#vouchers = vouchers;
    const { onRefused: _, ...others } = deps; // a browser that was signed out is no unknown caller
    this.sessions = new SecretRing(SESSIONS, others);
    this.podSessions = new SecretRing(POD_SESSIONS, others);
    this.teams = new TeamRing(deps);
  }

  /** False for a session that a proxy vouched for, unless it vouches for the same person with this request too. */
  isVouched({ voucher }: Actor, request: VouchedRequest): boolean | Promise<boolean> {
    if (voucher === undefined) return true;
    return this.#vouchers === null ? false : this.#vouchers.subjectOf(request).then((subject) => subject === voucher);
  }

  /**
   * Calls `onEnd` within two seconds of the end of the key or session, or of the membership that it acts with, for what is open longer than its request took to
   * arrive: streams, held requests, tunnels. Returns the function that ends the watch: call it in every case.
   */
  onEnd(credential: Credential, onEnd: (end: UseEnd) => void): () => void {
    const open: OpenUse = { onKeyEnd: onEnd, place: -1 };
    this.watch(credential, open);
    return () => this.unwatch(credential, open);
  }

  /** As `onEnd`, for objects that exist anyway. End each watch with `unwatch`. */
  watch(credential: Credential, open: OpenUse): void {
    this.#ringOf(credential).watchUse(useIdOf(credential), open);
  }

  unwatch(credential: Credential, open: OpenUse): void {
    this.#ringOf(credential).unwatchUse(useIdOf(credential), open);
  }

  override close(): void {
    super.close();
    this.sessions.close();
    this.podSessions.close();
    this.teams.close();
  }

  #ringOf({ sessionId }: Credential): SecretRing {
    return sessionId === undefined ? this : this.sessions;
  }
}
