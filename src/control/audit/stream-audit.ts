import { messageOf } from '../../core/errors.ts';
import { Loop, type NextRun } from '../../core/flow/loop.ts';
import type { Logger } from '../../core/logger.ts';
import { SeldomLog } from '../../core/seldom-log.ts';
import type { Pool } from '../../db/pool.ts';
import { readPortion, recordDelivered, recordNotDelivered } from '../../domain/audit/stream-store.ts';
import type { AuditReceiver } from '../../outbound/audit-receivers.ts';

const TICK_MS = 5_000;
const FIRST_PAUSE_MS = 5_000;
const MAX_PAUSE_MS = 300_000;

interface Deps {
  pool: Pool;
  logger: Logger;
  receiver: AuditReceiver;
}

/**
 * Sends the sealed entries of the audit log in their order, in portions, each until the receiver has accepted it: none is lost, and one may come
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
    const name = `stream-audit-${deps.receiver.kind.toLowerCase()}`;
    this.#loop = new Loop({ name, tickMs: TICK_MS, logger: deps.logger, runOnce: () => this.#run() });
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
    const { pool, receiver } = this.#deps;
    const { kind } = receiver;
    const portion = await readPortion(pool, kind);
    if (portion.entries.length === 0) return undefined;
    try {
      await receiver.deliver(portion, this.#stopping.signal);
    } catch (error) {
      if (this.#stopping.signal.aborted) return undefined;
      const failures = await recordNotDelivered(pool, kind, messageOf(error));
      this.#log.warn({ err: error, failures, kind }, 'the audit log was not sent: entries wait');
      return { inMs: Math.min(FIRST_PAUSE_MS * 2 ** Math.min(failures - 1, 10), MAX_PAUSE_MS) };
    }
    await recordDelivered(pool, kind, portion.entries.at(-1)!.seq);
    return { inMs: 0 };
  }
}
