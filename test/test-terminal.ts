import type { Terminal } from '../src/cli/terminal/terminal.ts';

/** A terminal for tests, with `input` as stdin; keeps what is written. Interactive with `answers`, one per prompt. */
export function testTerminal(
  options: { env?: Record<string, string>; input?: string; answers?: readonly string[] } = {},
): Terminal & { written: string[]; interrupt: () => void } {
  const interrupt = new AbortController();
  const written: string[] = [];
  const answers = [...(options.answers ?? [])];
  const answer = async () => answers.shift() ?? options.input ?? '';
  return {
    env: options.env ?? {},
    isInteractive: options.answers !== undefined,
    readInput: async () => options.input ?? '',
    askSecret: answer,
    ask: answer,
    progress: () => {},
    write: (text) => written.push(text),
    interrupted: interrupt.signal,
    openStreams: () => {
      throw new Error('this test has no streams');
    },
    written,
    interrupt: () => interrupt.abort(),
  };
}
