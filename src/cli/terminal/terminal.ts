import type { Readable, Writable } from 'node:stream';

/** The user's terminal and environment. Injected, for tests. */
export interface Terminal {
  env: Readonly<Record<string, string | undefined>>;
  /** True on a terminal: progress lines may be redrawn, and colors used. */
  isInteractive: boolean;
  /** Reads all of stdin, when it is not a terminal. */
  readInput(): Promise<string>;
  /** Prompts on the terminal without echo. */
  askSecret(question: string): Promise<string>;
  /** Prompts on the terminal. */
  ask(question: string): Promise<string>;
  /** Redraws one line on stderr, if that is a terminal. An empty text clears it. */
  progress(text: string): void;
  /** Writes to stdout, without a line break. */
  write(text: string): void;
  /** Aborts on Ctrl-C. */
  interrupted: AbortSignal;
  /** Opens the streams of this process, for a program that runs elsewhere. */
  openStreams(): TerminalStreams;
}

/** The streams of this process as bytes, and the terminal that they may be. */
export interface TerminalStreams {
  input: Readable;
  output: Writable;
  errors: Writable;
  /** True when both stdin and stdout are a terminal. */
  isTerminal: boolean;
  isInputTerminal: boolean;
  size(): { columns: number; rows: number };
  /** While raw, every key is passed on, Ctrl-C too. */
  setRaw(isRaw: boolean): void;
  /** Each calls the listener until the returned function is called. */
  onResize(listener: () => void): () => void;
  onSignal(listener: (name: string) => void): () => void;
}

/** Reads a secret, which must not be an argument: every user of the machine can read command lines. */
export async function readSecret(terminal: Terminal, what: string): Promise<string> {
  const text = terminal.isInteractive ? await terminal.askSecret(`${what}: `) : await terminal.readInput();
  const value = text.replace(/\r?\n$/, '');
  if (value === '') throw new Error(`${what.toLowerCase()} is empty: type it, or pipe it in`);
  return value;
}

/** Ends the command with this status and prints nothing more. */
export class ExitStatus extends Error {
  readonly status: number;

  constructor(status: number) {
    super(`exit status ${status}`);
    this.status = status;
  }
}
