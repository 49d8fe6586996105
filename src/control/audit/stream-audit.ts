import { createHmac } from 'node:crypto';
import { messageOf } from '../../core/errors.ts';
import { Loop, type NextRun } from '../../core/flow/loop.ts';
import type { Logger } from '../../core/logger.ts';
import { SeldomLog } from '../../core/seldom-log.ts';
import type { Pool } from '../../db/pool.ts';
import {
  type AuditPortion,
  readPortion,
  recordDelivered,
  recordNotDelivered,
} from '../../domain/audit/stream-store.ts';
import type { WebhookPolicy } from '../../domain/jobs/webhook-policy.ts';
import { postWebhook } from '../../outbound/post-webhook.ts';

const TICK_MS = 5_000;
const FIRST_PAUSE_MS = 5_000;
const MAX_PAUSE_MS = 300_000;

interface Deps {
  pool: Pool;
  logger: Logger;
  webhooks: WebhookPolicy;
  url: string;
  secret: string;
}

/**
 * POSTs the sealed entries of the audit log in their order, in portions, each until the receiver has answered it with a 2xx: none is lost, and one may come
 * twice. How far it got is in the database. An outage of the receiver delays entries, until retention removes them.
 */
export class AuditStream {
  readonly #deps: Deps;
  readonly #log: SeldomLog;
  readonly #loop: Loop;
  #stopping = new AbortController();

  constructor(deps: Deps) {
    this.#deps = deps;
    this.#log = new SeldomLog(deps.logger);
    this.#loop = new Loop({ name: 'stream-audit', tickMs: TICK_MS, logger: deps.logger, runOnce: () => this.#run() });
  }

  start(): void {
    this.#stopping = new AbortController();
    this.#loop.start();
  }

  async stop(): Promise<void> {
    this.#stopping.abort(); // the next leader sends it again
    await this.#loop.stop();
    this.#log.close();
  }

  async #run(): Promise<NextRun | undefined> {
    const { pool } = this.#deps;
    const portion = await readPortion(pool);
    if (portion.entries.length === 0) return undefined;
    try {
      await this.#post(portion);
    } catch (error) {
      if (this.#stopping.signal.aborted) return undefined;
      const failures = await recordNotDelivered(pool, messageOf(error));
      this.#log.warn({ err: error, failures }, 'the audit webhook failed: entries wait');
      return { inMs: Math.min(FIRST_PAUSE_MS * 2 ** Math.min(failures - 1, 10), MAX_PAUSE_MS) };
    }
    await recordDelivered(pool, portion.entries.at(-1)!.seq);
    return { inMs: 0 };
  }

  /** `head`: the chain's newest hash, which proves later what the log was now. */
  async #post({ entries, head }: AuditPortion): Promise<void> {
    const { webhooks, url, secret } = this.#deps;
    const body = JSON.stringify({ type: 'audit.entries', entries, head });
    const headers = { 'podyard-signature': `sha256=${createHmac('sha256', secret).update(body).digest('hex')}` };
    await postWebhook(url, body, { webhooks, signal: this.#stopping.signal, context: null, headers });
  }
}
