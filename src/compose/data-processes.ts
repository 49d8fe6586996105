import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { extname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Config } from '../config.ts';
import { messageOf } from '../core/errors.ts';
import type { Logger } from '../core/logger.ts';
import type { Metrics } from '../core/metrics.ts';
import { addDelta } from '../core/metrics-delta.ts';
import type { OtherProcesses } from '../rest/installation/metrics-page.ts';
import type { ProcessFigures } from '../rest/installation/process-figures.ts';
import { FIRST_PROCESS, type ToChild, type ToFirst } from './process-messages.ts';

/** Beside this file, compiled like it. */
const ENTRY = join(import.meta.dirname, '..', `data-process${extname(import.meta.filename)}`);

const FIRST_PAUSE_MS = 100;
const LAST_PAUSE_MS = 10_000;
/** One that lived for so long did not die of its start: the next pause is short again. */
const PROVEN_MS = 30_000;
const COLLECT_MS = 1_000;
/** For what a process may hold at its end; the listeners cut what is left after three seconds. */
const STOP_MS = 15_000;

interface Child {
  readonly name: string;
  process: ChildProcess | undefined;
  processId: string | undefined;
  figures: ProcessFigures | undefined;
  /** Deaths in a row. */
  failures: number;
}

/**
 * The processes that serve the same ports beside each other, started by the first one, which serves nothing itself. One
 * that dies is started again. They end when they are told to, and by themselves when the channel to the first process
 * ends, however that came about. What they count is added to the metrics of the first, which knows it for all.
 */
export class DataProcesses implements OtherProcesses {
  readonly ownName = FIRST_PROCESS;
  readonly #children: readonly Child[];
  readonly #config: Config;
  readonly #metrics: Metrics;
  readonly #logger: Logger;
  readonly #readPage: () => Promise<string>;
  readonly #onDeath: (processId: string) => void;
  readonly #collecting = new Map<number, () => void>();
  #question = 0;
  #isStopping = false;

  /** `config`: of each of them. `readPage`: `/metrics`. `onDeath`: one is gone, without having said so to others. */
  constructor(options: {
    count: number;
    config: Config;
    metrics: Metrics;
    logger: Logger;
    readPage: () => Promise<string>;
    onDeath: (processId: string) => void;
  }) {
    this.#config = options.config;
    this.#metrics = options.metrics;
    this.#logger = options.logger;
    this.#readPage = options.readPage;
    this.#onDeath = options.onDeath;
    this.#children = Array.from({ length: options.count }, (_, i) => ({
      name: `data-${i + 1}`,
      process: undefined,
      processId: undefined,
      figures: undefined,
      failures: 0,
    }));
  }

  /**
   * Resolves when one of them accepts connections, as soon as a single process would; the others follow. Rejects with
   * the reason when it cannot.
   */
  async start(): Promise<void> {
    const [one, ...others] = this.#children;
    await this.#launch(one!);
    this.#watch(one!);
    for (const child of others) void this.#relaunch(child);
  }

  /** Resolves when all of them have answered what they held, and are gone. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    await Promise.all(this.#children.map((child) => this.#end(child)));
  }

  async collect(): Promise<Map<string, ProcessFigures>> {
    await Promise.all(this.#children.map((child) => this.#ask(child)));
    return new Map(this.#children.flatMap(({ name, figures }) => (figures ? [[name, figures]] : [])));
  }

  #launch(child: Child): Promise<void> {
    const launched = fork(ENTRY, [], { serialization: 'advanced', stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
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
        else this.#hear(child, message);
      });
      tell(launched, { kind: 'start', name: child.name, config: this.#config });
    });
  }

  #watch(child: Child): void {
    const { process: watched, name } = child;
    const since = Date.now();
    const onExit = (code: number | null, signal: string | null) => {
      child.figures = undefined;
      if (child.processId !== undefined) this.#onDeath(child.processId);
      child.processId = undefined;
      if (this.#isStopping) return;
      if (Date.now() - since > PROVEN_MS) child.failures = 0;
      const reason = String(signal ?? code);
      this.#logger.warn({ pid: watched!.pid, reason }, `the process ${name} ended with ${reason}; it is started again`);
      void this.#relaunch(child);
    };
    if (watched!.exitCode === null && watched!.signalCode === null) watched!.once('exit', onExit);
    else onExit(watched!.exitCode, watched!.signalCode);
  }

  async #relaunch(child: Child): Promise<void> {
    const pauseMs = child.failures === 0 ? 0 : Math.min(LAST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** child.failures);
    child.failures += 1;
    await sleep(pauseMs, undefined, { ref: false });
    if (this.#isStopping) return;
    try {
      await this.#launch(child);
      if (this.#isStopping) return await this.#end(child);
      this.#watch(child);
    } catch (error) {
      if (this.#isStopping) return;
      this.#logger.error({ err: error, failures: child.failures }, `${child.name} did not start: ${messageOf(error)}`);
      child.process?.kill('SIGKILL');
      void this.#relaunch(child);
    }
  }

  #hear(child: Child, message: ToFirst): void {
    if (message.kind === 'counted') {
      addDelta(this.#metrics, message.delta);
      child.figures = message.figures;
      if (message.id !== null) this.#collecting.get(message.id)?.();
    } else if (message.kind === 'scrape') {
      const { process: asking } = child;
      this.#readPage().then(
        (text) => tell(asking, { kind: 'page', id: message.id, text }),
        () => tell(asking, { kind: 'page', id: message.id, text: null }),
      );
    }
  }

  /** One that does not answer in time is taken as it last was. */
  async #ask(child: Child): Promise<void> {
    if (child.processId === undefined) return;
    const id = ++this.#question;
    const told = new Promise<void>((resolve) => this.#collecting.set(id, resolve));
    tell(child.process, { kind: 'collect', id });
    await Promise.race([told, sleep(COLLECT_MS, undefined, { ref: false })]);
    this.#collecting.delete(id);
  }

  async #end({ process: running, name }: Child): Promise<void> {
    if (!running || running.exitCode !== null || running.signalCode !== null) return;
    const ended = once(running, 'exit');
    tell(running, { kind: 'stop' });
    const timer = setTimeout(() => {
      this.#logger.warn({ pid: running.pid }, `the process ${name} did not end in time; it is killed`);
      running.kill('SIGKILL');
    }, STOP_MS + this.#config.stopDelayMs);
    await ended;
    clearTimeout(timer);
  }
}

function tell(child: ChildProcess | undefined, message: ToChild): void {
  if (child?.connected) child.send(message, () => {}); // one that died meanwhile is noticed by its end
}
