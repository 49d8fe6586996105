/** Programs that a user runs in a workload: a shell in a terminal, a command, a copy of files. */
import { PassThrough, type Readable, type Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { Failure } from '../core/errors.ts';

export interface TerminalSize {
  columns: number;
  rows: number;
}

export interface ExecRequest {
  /** The program and its arguments; no shell reads them. */
  command: readonly string[];
  /** The size of its terminal. Null: it has none, and its stdout and stderr stay apart. */
  terminal: TerminalSize | null;
  /** False: its stdin is empty. */
  hasInput: boolean;
}

/** The signals that can be sent to a program. */
export const EXEC_SIGNALS = ['HUP', 'INT', 'QUIT', 'KILL', 'USR1', 'USR2', 'TERM', 'WINCH', 'CONT'] as const;
export type ExecSignal = (typeof EXEC_SIGNALS)[number];

/** A program that runs in a workload beside the workload's own. Streams pause it when nobody reads or writes them. */
export interface Execution {
  /** Its stdin. Ending it is the end of its input. */
  readonly input: Writable;
  /** Its stdout; with a terminal, everything that it prints. Ends when the program has ended. */
  readonly output: Readable;
  /** Its stderr; null with a terminal. */
  readonly errors: Readable | null;
  /**
   * Resolves with its exit code, 128 + n after signal n, once both streams have ended: read them. Rejects when the connection
   * to it was lost, or it could not be started.
   */
  readonly exitCode: Promise<number>;
  /** Does nothing without a terminal. */
  resize(size: TerminalSize): Promise<void>;
  /** Sends the signal to the program and everything that it started. Rejects where the workload lacks what that needs. */
  signal(name: ExecSignal): Promise<void>;
  /** Kills what is left of it, and closes the streams. Idempotent. Never rejects. */
  end(): Promise<void>;
}

/** In the environment of a program and of everything that it starts, so that a signal finds them. */
export const EXEC_MARKER = 'PODYARD_EXEC';
/** What programs are told of the terminal. */
export const TERM = 'xterm-256color';

/** The least of a workload's image that a signal needs: a POSIX shell and grep. `$1`: the signal, `$2`: the marker's value. */
const SIGNAL_SCRIPT = `for folder in /proc/[0-9]*; do
  if grep -qs "${EXEC_MARKER}=$2" "$folder/environ"; then kill -s "$1" "\${folder#/proc/}"; fi
done 2>/dev/null; exit 0`;

/** The command that sends a signal to a program from within its workload. */
export function signalCommand(name: ExecSignal, marker: string): string[] {
  return ['/bin/sh', '-c', SIGNAL_SCRIPT, 'podyard', name, marker];
}

const NOT_RUNNING = {
  created: 'It has not started yet',
  running: 'It cannot be reached',
  frozen: 'It is frozen, so no program can run in it',
  exited: 'It has ended',
};

/** Why no program can be run in a workload. */
export function notRunning(state: keyof typeof NOT_RUNNING): Failure {
  return new Failure('conflict', NOT_RUNNING[state]);
}

export function noShell(): Failure {
  return new Failure('conflict', 'The image has no /bin/sh and grep, which signals to a program need');
}

/**
 * Two streams that come over one connection. `write` returns false while one of them is full; `onDrain` is called when the
 * connection may be read again.
 */
export class JoinedOutput {
  readonly output = new PassThrough();
  readonly errors: PassThrough | null;
  readonly #onDrain: () => void;

  constructor(hasErrors: boolean, onDrain: () => void) {
    this.errors = hasErrors ? new PassThrough() : null;
    this.#onDrain = onDrain;
    for (const stream of [this.output, this.errors]) {
      stream?.on('drain', () => this.#drained());
      stream?.on('error', () => {}); // its reader gets the exit code's rejection
    }
  }

  /** False: wait for `onDrain`. */
  write(stream: 'output' | 'errors', chunk: Buffer): boolean {
    (this[stream] ?? this.output).write(chunk);
    return !this.isFull;
  }

  get isFull(): boolean {
    return this.output.writableNeedDrain || (this.errors?.writableNeedDrain ?? false);
  }

  end(): void {
    this.output.end();
    this.errors?.end();
  }

  destroy(): void {
    this.output.destroy();
    this.errors?.destroy();
  }

  /** Resolves when both were read to their end, or given up. */
  async read(): Promise<void> {
    await Promise.all([this.output, this.errors].map((stream) => stream && untilClosed(stream)));
  }

  #drained(): void {
    if (!this.isFull) this.#onDrain();
  }
}

function untilClosed(stream: Readable): Promise<void> {
  if (stream.closed || stream.readableEnded) return Promise.resolve();
  return new Promise((resolve) => {
    stream.once('end', resolve);
    stream.once('close', resolve);
  });
}

/** What a program may take to end after a hangup, and a signal to be delivered. */
const HANGUP_MS = 1_000;

/** Hangs up, and kills what that does not end. Takes a few seconds at most, whatever hangs. */
export async function endProgram(execution: Execution): Promise<void> {
  execution.output.resume();
  execution.errors?.resume();
  const ended = execution.exitCode.catch(() => {});
  await within(execution.signal('HUP'));
  await within(ended);
  await within(execution.signal('KILL')); // also what it left behind
}

async function within(work: Promise<unknown>): Promise<void> {
  await Promise.race([work.catch(() => {}), sleep(HANGUP_MS, undefined, { ref: false })]);
}
