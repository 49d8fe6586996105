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
}

/** Reads a secret, which must not be an argument: every user of the machine can read command lines. */
export async function readSecret(terminal: Terminal, what: string): Promise<string> {
  const text = terminal.isInteractive ? await terminal.askSecret(`${what}: `) : await terminal.readInput();
  const value = text.replace(/\r?\n$/, '');
  if (value === '') throw new Error(`${what.toLowerCase()} is empty: type it, or pipe it in`);
  return value;
}
