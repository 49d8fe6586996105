import { Failure } from '../core/errors.ts';
import type { NextRun } from '../core/flow/loop.ts';
import { PODYARD } from '../domain/access/actor.ts';
import { change } from '../domain/change.ts';
import { joinIdentity } from '../domain/sessions/join-identity.ts';
import {
  claimSessionsToRefresh,
  endSessionsOfAccount,
  type SessionToRefresh,
  updateSessionRefreshed,
} from '../domain/sessions/provider-session-store.ts';
import { readIdentity } from './claims.ts';
import { takeGroupsAway } from './leave-groups.ts';
import type { SignInDeps } from './sign-in-deps.ts';

/** How often a provider is asked whether it still vouches for a session. */
export const REFRESH_MS = 10 * 60_000;
const AT_ONCE = 20;

/** The dependencies of the refresh. */
export type RefreshDeps = Pick<SignInDeps, 'pool' | 'bus' | 'logger' | 'secretBox' | 'facts' | 'clients'>;

/**
 * Asks providers again about the sessions that they vouch for: roles are derived from groups again, and a session ends once its account was
 * disabled or has left the groups that may sign in. While a provider is unreachable, its sessions stay valid.
 */
export class RefreshSessions {
  readonly #deps: RefreshDeps;

  constructor(deps: RefreshDeps) {
    this.#deps = deps;
  }

  /** Refreshes those that are due; each is one process's for five minutes. */
  async runOnce(): Promise<NextRun | undefined> {
    const due = await claimSessionsToRefresh(this.#deps.pool, AT_ONCE);
    await Promise.all(due.map((session) => this.#refresh(session)));
    return due.length < AT_ONCE ? undefined : { inMs: 0 };
  }

  async #refresh(session: SessionToRefresh): Promise<void> {
    const { pool, logger } = this.#deps;
    const client = this.#deps.clients.get(session.provider);
    try {
      // A provider without settings vouches for no session.
      if (client === undefined) throw new Failure('unauthorized', 'the provider was removed from the settings');
      const { refreshToken } = JSON.parse(this.#deps.secretBox.open(session.tokens, session.id)) as {
        refreshToken: string;
      };
      const vouched = await client.refresh(refreshToken, session.subject);
      const identity = readIdentity(client.provider, vouched.claims);
      await change(this.#deps, PODYARD, joinIdentity, identity);
      const tokens = JSON.stringify({ refreshToken: vouched.refreshToken, idToken: vouched.idToken });
      await updateSessionRefreshed(pool, this.#deps.secretBox, session.id, { tokens, refreshInMs: REFRESH_MS });
    } catch (error) {
      const hasEnded = error instanceof Failure && (error.kind === 'unauthorized' || error.kind === 'forbidden');
      // Their keys are not affected by the end of a session.
      if (hasEnded && error.kind === 'forbidden') await takeGroupsAway(this.#deps, client!.provider, session.userId);
      if (hasEnded) await this.#end(session);
      else logger.warn({ err: error, sessionId: session.id }, 'a session could not be refreshed; it goes on');
    }
  }

  async #end({ id, userId, provider, subject }: SessionToRefresh): Promise<void> {
    const reason = `${provider} vouches for the account no longer`;
    await endSessionsOfAccount(this.#deps, provider, { subject, sid: null, reason });
    this.#deps.logger.info({ userId, sessionId: id, provider }, 'signed out: the provider vouches no longer');
  }
}
