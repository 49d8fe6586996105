/** Programs that a user runs in a workload: a shell in a terminal, a command, a copy of files. */
import { PassThrough, type Readable, type Writable } from 'node:stream';
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
  /** Names it, so that another server finds what is left of it. Absent: a random one. */
  marker?: string;
}

/** The signals that can be sent to a program. */
export const EXEC_SIGNALS = ['HUP', 'INT', 'QUIT', 'KILL', 'USR1', 'USR2', 'TERM', 'WINCH', 'CONT'] as const;
export type ExecSignal = (typeof EXEC_SIGNALS)[number];

/** A program that runs in a workload beside the workload's own. Streams pause it when they are not read or written. */
export interface Program {
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
  /** Closes the connection to it, which may leave it running. Idempotent. */
  close(): void;
}

/** A program that can be signaled. It ends soon after this process, however that ends. */
export interface Execution extends Omit<Program, 'close'> {
  /** Sends the signal to the program and everything that it started. Rejects where the workload lacks what that needs. */
  signal(name: ExecSignal): Promise<void>;
  /**
   * Ends what is left of it, with SIGHUP and a second later SIGKILL, and closes the streams. Takes a few seconds at most,
   * whatever hangs. Idempotent. Never rejects.
   */
  end(): Promise<void>;
}

/** In the environment of a program and of everything that it starts, so that a signal finds them. */
export const EXEC_MARKER = 'PODYARD_EXEC';
/** The value of TERM in programs. */
export const TERM = 'xterm-256color';

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
