import { BoundedMap } from './bounded-map.ts';
import type { Logger } from './logger.ts';

const INTERVAL_MS = 60_000;
const MAX_TEXTS = 100;

/**
 * Logs the same text once a minute, with how often it was `repeated` since: a container engine that is away fails everything
 * that has to be done, of however many workloads.
 */
export class SeldomLog {
  readonly #logger: Logger;
  readonly #latest = new BoundedMap<string, { atMs: number; repeated: number }>(MAX_TEXTS);

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  warn(fields: object, text: string): void {
    this.#log('warn', fields, text);
  }

  error(fields: object, text: string): void {
    this.#log('error', fields, text);
  }

  #log(level: 'warn' | 'error', fields: object, text: string): void {
    const now = performance.now();
    const latest = this.#latest.get(text);
    if (latest && now - latest.atMs < INTERVAL_MS) {
      latest.repeated += 1;
      return;
    }
    this.#latest.set(text, { atMs: now, repeated: 0 });
    this.#logger[level](latest && latest.repeated > 0 ? { ...fields, repeated: latest.repeated } : fields, text);
  }
}
