import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import type { Terminal } from './terminal.ts';

const CLEAR_LINE = '\r\u001b[2K';

/** Returns the terminal or pipes of this process. Ctrl-C is intercepted only once `interrupted` is read. */
export function createTerminal(env: Readonly<Record<string, string | undefined>>): Terminal {
  const interrupt = new AbortController();
  const isInteractive = process.stdin.isTTY === true && process.stderr.isTTY === true && !env.CI;
  let shown = '';
  return {
    env,
    isInteractive,
    readInput: () => text(process.stdin),
    askSecret: async (question) => {
      process.stderr.write(question);
      const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
      const answer = await readLine('', silent, interrupt);
      process.stderr.write('\n');
      return answer;
    },
    ask: (question) => readLine(question, process.stderr, interrupt),
    progress: (line) => {
      if (!process.stderr.isTTY || line === shown) return;
      shown = line;
      process.stderr.write(`${CLEAR_LINE}${line}`);
    },
    write: (chunk) => process.stdout.write(chunk),
    get interrupted() {
      if (process.listenerCount('SIGINT') === 0) process.once('SIGINT', () => interrupt.abort());
      return interrupt.signal;
    },
  };
}

/** Reads a line from the terminal. Ctrl-C, which the line editor receives as a character, aborts `interrupt`. */
async function readLine(question: string, output: NodeJS.WritableStream, interrupt: AbortController): Promise<string> {
  const lines = createInterface({ input: process.stdin, output, terminal: true });
  lines.once('SIGINT', () => interrupt.abort());
  return lines.question(question, { signal: interrupt.signal }).finally(() => lines.close());
}
