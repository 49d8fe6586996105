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
      const lines = createInterface({ input: process.stdin, output: silent, terminal: true });
      const answer = await lines.question('').finally(() => lines.close());
      process.stderr.write('\n');
      return answer;
    },
    ask: async (question) => {
      const lines = createInterface({ input: process.stdin, output: process.stderr, terminal: true });
      return lines.question(question).finally(() => lines.close());
    },
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
