import type { Terminal } from './remote/terminal.ts';

/** For tests: nobody reads along, stdin holds `input`, and what is written is kept. */
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
