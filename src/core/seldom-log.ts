import { BoundedMap } from './bounded-map.ts';
import { messageOf } from './errors.ts';
import type { Logger } from './logger.ts';

const INTERVAL_MS = 60_000;
const MAX_KINDS = 100;
/** Characters of a message. */
const MAX_COMPARED = 500;

type Level = 'warn' | 'error';

interface Kind {
  level: Level;
  fields: Fields;
  text: string;
  /** How often the failure was not logged since the last line about it. */
  repeated: number;
  timer: NodeJS.Timeout;
}

interface Fields {
  err: unknown;
  [name: string]: unknown;
}

/**
 * Logs failures of a kind at once, and then once a minute with how often they were `repeated`, until there are no more: a
 * container engine that is away fails everything that has to be done, of however many workloads. Failures are of a kind if the
 * same action failed with the same error, whichever workload it names.
 */
export class SeldomLog {
  readonly #logger: Logger;
  readonly #kinds = new BoundedMap<string, Kind>(MAX_KINDS);

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** `action`: what failed, a constant; the line has the error's message as well. */
  warn(fields: Fields, action: string): void {
    this.#log('warn', fields, action);
  }

  error(fields: Fields, action: string): void {
    this.#log('error', fields, action);
  }

  /** Logs what was repeated since the last line. */
  close(): void {
    for (const kind of this.#kinds.values()) {
      clearTimeout(kind.timer);
      this.#logRepeated(kind);
    }
    this.#kinds.clear();
  }

  #log(level: Level, fields: Fields, action: string): void {
    const key = `${action} ${kindOf(fields.err)}`;
    const text = `${action}: ${messageOf(fields.err)}`;
    const known = this.#kinds.get(key);
    if (known) {
      Object.assign(known, { level, fields, text, repeated: known.repeated + 1 });
      return;
    }
    this.#logger[level](fields, text);
    const kind = { level, fields, text, repeated: 0, timer: setInterval(() => this.#onMinute(key, kind), INTERVAL_MS) };
    kind.timer.unref();
    this.#kinds.set(key, kind);
  }

  #onMinute(key: string, kind: Kind): void {
    const isOver = kind.repeated === 0 || this.#kinds.get(key) !== kind;
    this.#logRepeated(kind);
    if (!isOver) return;
    clearInterval(kind.timer);
    if (this.#kinds.get(key) === kind) this.#kinds.delete(key); // the next one is logged at once
  }

  #logRepeated(kind: Kind): void {
    const { level, fields, text, repeated } = kind;
    if (repeated > 0) this.#logger[level]({ ...fields, repeated }, text);
    kind.repeated = 0;
  }
}

function kindOf(error: unknown): string {
  const { name = '', code = '' } = (error ?? {}) as { name?: string; code?: string | number };
  return `${name} ${code} ${withoutNames(messageOf(error))}`;
}

/** Leaves out what is quoted, ids and addresses: what differs between messages of the same kind. */
function withoutNames(message: string): string {
  const parts = message.slice(0, MAX_COMPARED).split(/['"]/);
  return parts.map((part, i) => (i % 2 === 1 ? '*' : part.replace(/[\w.-]+/g, withoutName))).join('');
}

/** Short numbers, such as a status, stay. */
function withoutName(word: string): string {
  return word.length >= 14 || (word.length >= 4 && /\d/.test(word)) ? '*' : word;
}
