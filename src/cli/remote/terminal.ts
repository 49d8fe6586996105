/** What a command may know of, and do with, the terminal and the user's environment. Given from outside, for tests. */
export interface Terminal {
  env: Readonly<Record<string, string | undefined>>;
  /** People read along: a progress line may be redrawn, colours may be used. */
  isInteractive: boolean;
  /** All of stdin, when it is not a terminal. */
  readInput(): Promise<string>;
  /** Asks on the terminal without showing what is typed. */
  askSecret(question: string): Promise<string>;
  /** Redraws one line on stderr; nothing where people do not read along. An empty text takes it away. */
  progress(text: string): void;
  /** Writes to stdout as it is. */
  write(text: string): void;
  /** Aborts with Ctrl-C. */
  interrupted: AbortSignal;
}

/** A value that must not stand on a command line, where every user of the machine could read it. */
export async function readSecret(terminal: Terminal, what: string): Promise<string> {
  const text = terminal.isInteractive ? await terminal.askSecret(`${what}: `) : await terminal.readInput();
  const value = text.replace(/\r?\n$/, '');
  if (value === '') throw new Error(`${what.toLowerCase()} is empty: type it, or pipe it in`);
  return value;
}
