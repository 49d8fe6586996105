import type { Terminal } from './remote/terminal.ts';

/** A terminal for tests: not interactive, with `input` as stdin; keeps what is written. */
export function testTerminal(
  options: { env?: Record<string, string>; input?: string } = {},
): Terminal & { written: string[]; interrupt: () => void } {
  const interrupt = new AbortController();
  const written: string[] = [];
  return {
    env: options.env ?? {},
    isInteractive: false,
    readInput: async () => options.input ?? '',
    askSecret: async () => options.input ?? '',
    progress: () => {},
    write: (text) => written.push(text),
    interrupted: interrupt.signal,
    written,
    interrupt: () => interrupt.abort(),
  };
}
