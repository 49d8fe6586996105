import { messageOf } from '../../core/errors.ts';
import { Loop, type NextRun } from '../../core/flow/loop.ts';
import type { Logger } from '../../core/logger.ts';
import type { Metrics } from '../../core/metrics.ts';
import type { SecretBox } from '../../core/secret-box.ts';
import { SeldomLog } from '../../core/seldom-log.ts';
import type { Pool } from '../../db/pool.ts';
import { openDestination } from '../../domain/notices/change-destination.ts';
import type { NoticeSender } from '../../domain/notices/notice.ts';
import { type DueMessage, recordNotSent, recordSent, takeDueMessages } from '../../domain/notices/outbox.ts';

const TICK_MS = 15_000;
const MAX_AT_ONCE = 10;

interface Deps {
  pool: Pool;
  logger: Logger;
  metrics: Pick<Metrics, 'notices'>;
  secretBox: SecretBox;
  notices: NoticeSender;
}

/**
 * Sends what is in the outbox, of each destination in its order: each message until it was accepted, or for three days. A kill between the acceptance and its record
 * has it sent once more, under the same id.
 */
export class NoticeCourier {
  readonly #deps: Deps;
  readonly #log: SeldomLog;
  readonly #loop: Loop;
  #stopping = new AbortController();

  constructor(deps: Deps) {
    this.#deps = deps;
    this.#log = new SeldomLog(deps.logger);
    this.#loop = new Loop({
      name: 'send-notices',
      tickMs: TICK_MS,
      logger: deps.logger,
      runOnce: () => this.runOnce(),
    });
  }

  start(): void {
    this.#stopping = new AbortController();
    this.#loop.start();
  }

  wake(): void {
    this.#loop.wake();
  }

  async stop(): Promise<void> {
    this.#stopping.abort(); // the next leader sends it again
    await this.#loop.stop();
    this.#log.close();
  }

  /** Sends a message to each destination that has one due. */
  async runOnce(): Promise<NextRun | undefined> {
    const due = await takeDueMessages(this.#deps.pool, MAX_AT_ONCE);
    await Promise.all(due.map((message) => this.#send(message)));
    return due.length === 0 || this.#stopping.signal.aborted ? undefined : { inMs: 0 };
  }

  async #send({ id, destinationId, kind, address, sealed, items, more }: DueMessage): Promise<void> {
    const { pool, secretBox, notices, metrics } = this.#deps;
    const { signal } = this.#stopping;
    try {
      const secret = openDestination(secretBox, destinationId, sealed);
      await notices.send({ kind, address, secret }, { id: `notice-${id}`, items, more }, signal);
    } catch (error) {
      if (signal.aborted) return;
      metrics.notices.count('failed');
      this.#log.warn({ destinationId, err: error }, 'a notice was not sent; trying again later');
      return recordNotSent(pool, id, messageOf(error));
    }
    metrics.notices.count('sent');
    await recordSent(pool, id);
  }
}
