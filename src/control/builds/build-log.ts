import { setTimeout as sleep } from 'node:timers/promises';
import type { BuildEvent } from '../../builders/builder.ts';
import type { BuildId } from '../../core/ids.ts';
import type { Logger } from '../../core/logger.ts';
import { SeldomLog } from '../../core/seldom-log.ts';
import type { Bus } from '../../db/bus.ts';
import type { Pool } from '../../db/pool.ts';
import { sqlState } from '../../db/sql-state.ts';
import { appendEvents, type StepUpdate, type StoredLine } from '../../domain/builds/running-builds.ts';

/** How long events are collected before they are stored together. */
const COLLECT_MS = 200;
const RETRY_MS = 1_000;
/** Bytes of all lines that are stored; after them, only the last ones are. */
const MAX_BYTES = 4 * 2 ** 20;
const MAX_LINES = 50_000;
const LAST_LINES = 100;
const MAX_LINE_LENGTH = 8 * 1024;
const MAX_STEPS = 500;
const MAX_STEP_NAME = 500;
const FOREIGN_KEY_VIOLATION = '23503';

/** Replaces a secret's value. */
const MASK = '***';

/**
 * Stores what happens in a build, in batches, and hides its secrets in it. Holds at most 5 MiB: of a build that prints more, the
 * first 4 MiB and the last 100 lines are stored. While the database is away, it waits; nothing is lost.
 */
export class BuildLog {
  readonly #deps: { pool: Pool; bus: Pick<Bus, 'publish'>; logger: Logger };
  readonly #id: BuildId;
  readonly #secrets: readonly string[];
  readonly #log: SeldomLog;
  readonly #steps = new Map<string, StepUpdate>();
  readonly #changed = new Set<string>();
  #lines: StoredLine[] = [];
  /** Lines beyond the limits: the last of them, and how many there were. */
  #last: Omit<StoredLine, 'number'>[] = [];
  #leftOut = 0;
  #bytes = 0;
  #number: number;
  #storing: Promise<void> | undefined;
  readonly #closing = new AbortController();
  #isPushing = false;
  /** The name of the step that failed last. */
  failedStep: string | null = null;

  constructor(
    deps: { pool: Pool; bus: Pick<Bus, 'publish'>; logger: Logger },
    { id, lastLine, secrets }: { id: BuildId; lastLine: number; secrets: readonly string[] },
  ) {
    this.#deps = deps;
    this.#id = id;
    this.#number = lastLine;
    this.#secrets = linesOf(secrets);
    this.#log = new SeldomLog(deps.logger);
  }

  add(event: BuildEvent): void {
    if (event.kind === 'pushing') this.#isPushing = true;
    else if (event.kind === 'step') this.#addStep(event);
    else this.#addLine(event);
    if (this.#hasNews()) this.#storing ??= this.#storeSoon(); // a push is stored with its step, which follows
  }

  /** Adds a line of Podyard's own. */
  say(text: string): void {
    this.add({ kind: 'line', step: null, stream: 'system', text, at: new Date() });
  }

  /** Returns a text without the values of the build's secrets. */
  mask(text: string): string {
    return this.#secrets.reduce((masked, secret) => masked.replaceAll(secret, MASK), text);
  }

  /** Resolves when everything is stored, or `signal` aborts. */
  async close(signal: AbortSignal): Promise<void> {
    this.#closing.abort();
    await this.#storing;
    const kept = this.#last;
    if (this.#leftOut > kept.length) this.#push({ ...kept[0]!, stream: 'system', step: null, text: this.#cutText() });
    for (const line of kept) this.#push(line);
    this.#last = [];
    while (!signal.aborted && this.#hasNews()) await this.#store(signal);
    this.#log.close();
  }

  #cutText(): string {
    return `… ${this.#leftOut - this.#last.length} lines are left out: a log may have ${MAX_BYTES / 2 ** 20} MiB …`;
  }

  #addStep({ step, name, state, at }: Extract<BuildEvent, { kind: 'step' }>): void {
    const before = this.#steps.get(step);
    if (!before && this.#steps.size >= MAX_STEPS) return;
    const shown = storable(this.mask(name), MAX_STEP_NAME);
    const endedAt = state === 'RUNNING' ? null : at;
    const number = before?.number ?? this.#steps.size;
    this.#steps.set(step, { step, number, name: shown, status: state, startedAt: before?.startedAt ?? at, endedAt });
    this.#changed.add(step);
    if (state === 'FAILED') this.failedStep = shown;
  }

  #addLine({ step, stream, text, at }: Extract<BuildEvent, { kind: 'line' }>): void {
    const line = { step, stream, text: storable(this.mask(text), MAX_LINE_LENGTH), at };
    this.#bytes += line.text.length;
    if (this.#bytes <= MAX_BYTES && this.#number < MAX_LINES) this.#push(line);
    else {
      this.#leftOut += 1;
      this.#last.push(line);
      if (this.#last.length > LAST_LINES) this.#last.shift();
    }
  }

  #push(line: Omit<StoredLine, 'number'>): void {
    this.#number += 1;
    this.#lines.push({ ...line, number: this.#number });
  }

  /** One batch after the other: a reader has seen every line before the last one that it saw. */
  async #storeSoon(): Promise<void> {
    const { signal } = this.#closing;
    while (!signal.aborted && this.#hasNews()) {
      await sleep(COLLECT_MS, undefined, { signal }).catch(() => {});
      if (!signal.aborted) await this.#store();
    }
    this.#storing = undefined;
  }

  #hasNews(): boolean {
    return this.#lines.length > 0 || this.#changed.size > 0;
  }

  /** Tries once; after a failure it waits a moment, and everything is kept for the next time. */
  async #store(signal?: AbortSignal): Promise<void> {
    const { pool, bus } = this.#deps;
    const lines = this.#lines;
    const steps = [...this.#changed].map((step) => this.#steps.get(step)!);
    this.#lines = [];
    this.#changed.clear();
    try {
      await appendEvents(pool, this.#id, { lines, steps, isPushing: this.#isPushing });
      bus.publish('buildOutput', this.#id);
    } catch (error) {
      if (sqlState(error) === FOREIGN_KEY_VIOLATION) return; // the build is gone, with its user
      this.#log.error({ buildId: this.#id, err: error }, 'the log of a build could not be stored');
      this.#lines = [...lines, ...this.#lines];
      for (const { step } of steps) this.#changed.add(step);
      await sleep(RETRY_MS, undefined, signal && { signal }).catch(() => {});
    }
  }
}

/** A value of several lines is printed line by line. Longest first: one value may contain another. */
function linesOf(secrets: readonly string[]): string[] {
  const texts = secrets.flatMap((secret) => [secret, ...secret.split('\n')]).map((text) => text.trim());
  return [...new Set(texts)].filter(Boolean).toSorted((a, b) => b.length - a.length);
}

/** PostgreSQL stores neither NUL nor lone surrogates. */
function storable(text: string, maxLength: number): string {
  const cut = text.length > maxLength ? `${text.slice(0, maxLength)} …` : text;
  return cut.replaceAll('\0', '').toWellFormed();
}
