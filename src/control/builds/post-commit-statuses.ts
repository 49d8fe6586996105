import { Failure, messageOf } from '../../core/errors.ts';
import type { NextRun } from '../../core/flow/loop.ts';
import type { Logger } from '../../core/logger.ts';
import type { SecretBox } from '../../core/secret-box.ts';
import type { Bus } from '../../db/bus.ts';
import type { Pool } from '../../db/pool.ts';
import { statusRequest } from '../../domain/git-sources/commit-status.ts';
import {
  type DueStatus,
  endStatus,
  listStatuses,
  postponeStatus,
} from '../../domain/git-sources/commit-status-store.ts';
import { addressOf, inWordsOfGit } from '../../domain/git-sources/git-url.ts';
import { isPublicAddress, type WebhookPolicy, WebhookRefused } from '../../domain/jobs/webhook-policy.ts';
import { postWebhook, Refused } from '../../outbound/post-webhook.ts';
import { UserTaskLoop } from './user-task-loop.ts';

const TICK_MS = 30_000;
/** A build prints often, and each time there is a hint. */
const PAUSE_MS = 100;
/** Requests at once, and one of each user: a host that is silent delays its own user's. */
const AT_ONCE = 10;
const FIRST_RETRY_SECONDS = 30;
const MAX_RETRY_SECONDS = 3_600;
/** In a row, over about two hours. */
const MAX_FAILURES = 8;
const MAX_REFUSAL_CHARS = 200;

interface Deps {
  pool: Pool;
  bus: Pick<Bus, 'subscribe' | 'onGap'>;
  logger: Logger;
  secretBox: SecretBox;
  webhooks: WebhookPolicy;
  /** The base of links to the pages of builds; null: no links. */
  publicUrl: string | null;
}

/**
 * Posts the statuses of commits' builds to the hosts of their repositories. A status stays in the database until the host accepts or
 * refuses it, so it survives a kill, and may then be posted twice. Builds never wait for it.
 */
export class CommitStatusPoster extends UserTaskLoop {
  readonly #deps: Deps;

  constructor(deps: Deps) {
    const { bus, logger } = deps;
    const subscribe = (wake: () => void) => [bus.subscribe('build', wake), bus.onGap(wake)];
    const pauseMs = () => PAUSE_MS;
    super({ name: 'post-commit-statuses', tickMs: TICK_MS, logger, pauseMs, subscribe, atOnce: AT_ONCE });
    this.#deps = deps;
  }

  protected override async run(): Promise<NextRun | undefined> {
    for (const status of await listStatuses(this.#deps.pool)) {
      if (status.inMs > 0) return { inMs: status.inMs };
      if (this.isFull) return undefined;
      this.startTask(status.userId, () => this.#tell(status), { buildId: status.buildId });
    }
    return undefined; // the end of a request wakes the loop
  }

  async #tell(status: DueStatus): Promise<void> {
    const { pool, logger } = this.#deps;
    const { buildId, sourceId: gitSourceId, git, state, failures } = status;
    const fields = { buildId, gitSourceId, status: state };
    try {
      await this.#post(status);
      await endStatus(pool, status, null);
      logger.info(fields, 'status of a commit posted');
    } catch (error) {
      if (this.stopping.aborted) throw error;
      const isFinal = error instanceof Failure || error instanceof WebhookRefused || isRefusal(error);
      logger.warn({ ...fields, err: error, failures: failures + 1 }, 'status of a commit not posted');
      const text = textOf(error, { ...status, host: addressOf(git.url).host });
      if (isFinal || failures + 1 >= MAX_FAILURES) return endStatus(pool, status, text);
      const seconds = Math.min(FIRST_RETRY_SECONDS * 2 ** failures, MAX_RETRY_SECONDS);
      await postponeStatus(pool, status, { seconds, error: `${text} It is tried again.` });
    }
  }

  async #post(status: DueStatus): Promise<void> {
    const { webhooks, secretBox, publicUrl } = this.#deps;
    const { buildId, endpointName, statuses, git, state } = status;
    const page = publicUrl === null ? null : `${publicUrl.replace(/\/$/, '')}/#/builds/${buildId}`;
    const token = openToken(secretBox, status);
    const { url, headers, body } = statusRequest(statuses, git, { state, endpointName, page }, token);
    const guarded = {
      resolve: async (target: URL) => {
        const place = await webhooks.resolve(target);
        if (target.protocol === 'http:' && isPublicAddress(place.address))
          throw new Failure('unprocessable', 'without TLS, anyone on the way could read the token');
        return place;
      },
    };
    try {
      await postWebhook(url, JSON.stringify(body), {
        ...{ webhooks: guarded, signal: this.stopping, context: null, headers },
      });
    } catch (error) {
      // GitLab refuses what it has already: this was posted before a kill
      const isThere =
        error instanceof Refused && error.status === 400 && error.text.includes('Cannot transition status');
      if (!isThere) throw error;
    }
  }
}

/** A host that is too busy, or has a fault, may take it later. */
function isRefusal(error: unknown): boolean {
  return error instanceof Refused && error.status < 500 && error.status !== 429 && error.status !== 408;
}

function openToken(secretBox: SecretBox, { token, tokenSecretId }: DueStatus): string {
  if (token === null) throw new Failure('unprocessable', 'the secret with the token was deleted');
  try {
    return secretBox.open(token, tokenSecretId!);
  } catch (cause) {
    throw new Failure('unprocessable', 'the token cannot be opened: the server’s log says why', { cause });
  }
}

/** Returns a sentence for the owner of the source. */
function textOf(error: unknown, { host, secret, state }: DueStatus & { host: string }): string {
  const what = `The status ${state} was not posted`;
  if (error instanceof WebhookRefused) return `${what}: ${inWordsOfGit(error.message)}.`;
  if (!(error instanceof Refused)) return `${what}: ${messageOf(error)}.`;
  if (error.status === 401 || error.status === 403 || error.status === 404) {
    return `${what}: ${host} answered ${error.status}. Give the token in the secret '${secret}' the right to write statuses of commits, or have none posted.`;
  }
  const said = error.text.replaceAll(/[\p{Cc}\s]+/gu, ' ').slice(0, MAX_REFUSAL_CHARS);
  return `${what}: ${host} answered ${error.status}${said === '' ? '' : `, ${said}`}.`;
}
