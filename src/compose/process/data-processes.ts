import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Config } from '../../config/config.ts';
import { monotonicClock } from '../../core/clock.ts';
import { messageOf } from '../../core/errors.ts';
import type { Logger } from '../../core/logger.ts';
import type { Metrics } from '../../core/metrics.ts';
import { addDelta } from '../../core/metrics.ts';
import type { OtherProcesses } from '../../rest/installation/metrics-page.ts';
import type { ProcessFigures } from '../../rest/installation/process-figures.ts';
import { FIRST_PROCESS, type ToChild, type ToFirst } from './process-messages.ts';

const FIRST_BACKOFF_MS = 100;
const MAX_BACKOFF_MS = 10_000;
/** A process that ran this long did not die of its start: the backoff starts over. */
const PROVEN_MS = 30_000;
const COLLECT_TIMEOUT_MS = 1_000;
/** Time for held requests to end; the listeners cut what is left after three seconds. */
const STOP_TIMEOUT_MS = 15_000;

interface Child {
  readonly name: string;
  process: ChildProcess | undefined;
  processId: string | undefined;
  figures: ProcessFigures | undefined;
  /** Consecutive deaths. */
  failures: number;
}

/**
 * The processes that serve the same ports, started by the first one, which serves nothing itself. One that dies is
 * restarted. They stop on request, and by themselves when the channel to the first process closes, for whatever reason.
 * The first process adds what they count to its own metrics.
 */
export class DataProcesses implements OtherProcesses {
  readonly ownName = FIRST_PROCESS;
  readonly #deps: {
    readonly entryFile: string;
    readonly config: Config;
    readonly metrics: Metrics;
    readonly logger: Logger;
    readonly readPage: () => Promise<string>;
    readonly onDeath: (processId: string) => void;
  };
  readonly #children: readonly Child[];
  readonly #collecting = new Map<number, () => void>();
  #lastRequestId = 0;
  #isStopping = false;

  /**
   * `entryFile`: the module that each of them runs. `config`: the configuration of each. `readPage`: `/metrics`.
   * `onDeath`: called when one ended, which other processes have not heard from itself.
   */
  constructor(options: {
    entryFile: string;
    count: number;
    config: Config;
    metrics: Metrics;
    logger: Logger;
    readPage: () => Promise<string>;
    onDeath: (processId: string) => void;
  }) {
    this.#deps = options;
    this.#children = Array.from({ length: options.count }, (_, i) => ({
      name: `data-${i + 1}`,
      process: undefined,
      processId: undefined,
      figures: undefined,
      failures: 0,
    }));
  }

  /** Resolves when the first of them accepts connections; the others follow. Rejects with the reason when it cannot. */
  async start(): Promise<void> {
    const [one, ...others] = this.#children;
    await this.#launch(one!);
    this.#watch(one!);
    for (const child of others) void this.#relaunch(child);
  }

  /** Resolves when all of them have answered what they held and exited. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    await Promise.all(this.#children.map((child) => this.#end(child)));
  }

  async collect(): Promise<Map<string, ProcessFigures>> {
    await Promise.all(this.#children.map((child) => this.#requestCounts(child)));
    return new Map(this.#children.flatMap(({ name, figures }) => (figures ? [[name, figures]] : [])));
  }

  #launch(child: Child): Promise<void> {
    const { entryFile, config } = this.#deps;
    const launched = fork(entryFile, [], { serialization: 'advanced', stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
    child.process = launched;
    return new Promise((resolve, reject) => {
      const onEnd = (code: number | null, signal: string | null) =>
        reject(new Error(`the process ${child.name} ended with ${signal ?? code} before it was ready`));
      launched.once('exit', onEnd).once('error', reject);
      launched.on('message', (message: ToFirst) => {
        if (message.kind === 'ready') {
          launched.off('exit', onEnd);
          child.processId = message.processId;
          resolve();
        } else if (message.kind === 'failed') reject(new Error(message.reason));
        else this.#receive(child, message);
      });
      send(launched, { kind: 'start', name: child.name, config });
    });
  }

  #watch(child: Child): void {
    const { process: watched, name } = child;
    const startedAt = monotonicClock.now();
    const onExit = (code: number | null, signal: string | null) => {
      child.figures = undefined;
      if (child.processId !== undefined) this.#deps.onDeath(child.processId);
      child.processId = undefined;
      if (this.#isStopping) return;
      if (monotonicClock.now() - startedAt > PROVEN_MS) child.failures = 0;
      const reason = String(signal ?? code);
      this.#deps.logger.warn({ pid: watched!.pid, reason }, `the process ${name} ended with ${reason}; restarting it`);
      void this.#relaunch(child);
    };
    if (watched!.exitCode === null && watched!.signalCode === null) watched!.once('exit', onExit);
    else onExit(watched!.exitCode, watched!.signalCode);
  }

  async #relaunch(child: Child): Promise<void> {
    const pauseMs = child.failures === 0 ? 0 : Math.min(MAX_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** child.failures);
    child.failures += 1;
    await sleep(pauseMs, undefined, { ref: false });
    if (this.#isStopping) return;
    try {
      await this.#launch(child);
      if (this.#isStopping) return await this.#end(child);
      this.#watch(child);
    } catch (error) {
      if (this.#isStopping) return;
      const fields = { err: error, failures: child.failures };
      this.#deps.logger.error(fields, `${child.name} did not start: ${messageOf(error)}`);
      child.process?.kill('SIGKILL');
      void this.#relaunch(child);
    }
  }

  #receive(child: Child, message: ToFirst): void {
    if (message.kind === 'counted') {
      addDelta(this.#deps.metrics, message.delta);
      child.figures = message.figures;
      if (message.id !== null) this.#collecting.get(message.id)?.();
    } else if (message.kind === 'scrape') {
      const { process: asking } = child;
      this.#deps.readPage().then(
        (text) => send(asking, { kind: 'page', id: message.id, text }),
        () => send(asking, { kind: 'page', id: message.id, text: null }),
      );
    }
  }

  /** A process that does not answer in time keeps its last figures. */
  async #requestCounts(child: Child): Promise<void> {
    if (child.processId === undefined) return;
    const id = ++this.#lastRequestId;
    const answered = new Promise<void>((resolve) => this.#collecting.set(id, resolve));
    send(child.process, { kind: 'collect', id });
    await Promise.race([answered, sleep(COLLECT_TIMEOUT_MS, undefined, { ref: false })]);
    this.#collecting.delete(id);
  }

  async #end({ process: running, name }: Child): Promise<void> {
    if (!running || running.exitCode !== null || running.signalCode !== null) return;
    const ended = once(running, 'exit');
    send(running, { kind: 'stop' });
    const timer = setTimeout(
      () => {
        this.#deps.logger.warn({ pid: running.pid }, `the process ${name} did not end in time; killing it`);
        running.kill('SIGKILL');
      },
      STOP_TIMEOUT_MS + this.#deps.config.stopDelayMs + this.#deps.config.stopGraceMs,
    );
    await ended;
    clearTimeout(timer);
  }
}

function send(child: ChildProcess | undefined, message: ToChild): void {
  if (child?.connected) child.send(message, () => {}); // a dead process is noticed by its exit
}
