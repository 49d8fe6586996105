import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import type { CliOutput } from '../shared/cli-pieces.ts';
import type { Terminal, TerminalStreams } from './terminal.ts';
import { cellText, cutToWidth, terminalText } from './terminal-text.ts';

const CLEAR_LINE = '\r\u001b[2K';

type Env = Readonly<Record<string, string | undefined>>;

/** Returns the output of this process: to a terminal without control characters, to a file or a pipe as it is. */
export function createOutput(env: Env): CliOutput {
  const { stdout, stderr } = process;
  return {
    ...(stdout.isTTY && { screen: { columns: stdout.columns || null, hasColors: hasColors(stdout, env) } }),
    print: (text) => console.log(safeFor(stdout, text, env)),
    note: (text) => console.error(safeFor(stderr, text, env)),
  };
}

function hasColors(stream: NodeJS.WriteStream, { NO_COLOR, TERM }: Env): boolean {
  return stream.isTTY && !NO_COLOR && TERM !== 'dumb';
}

function safeFor(stream: NodeJS.WriteStream, text: string, env: Env): string {
  return stream.isTTY ? terminalText(text, hasColors(stream, env)) : text;
}

/** Returns the terminal or pipes of this process. Ctrl-C is intercepted only once `interrupted` is read. */
export function createTerminal(env: Env): Terminal {
  const interrupt = new AbortController();
  const isInteractive = process.stdin.isTTY === true && process.stderr.isTTY === true && !env.CI;
  let shown = '';
  return {
    env,
    isInteractive,
    readInput: () => text(process.stdin),
    askSecret: async (question) => {
      process.stderr.write(cellText(question));
      const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
      const answer = await readLine('', silent, interrupt);
      process.stderr.write('\n');
      return answer;
    },
    ask: (question) => readLine(cellText(question), process.stderr, interrupt),
    progress: (line) => {
      if (!process.stderr.isTTY || line === shown) return;
      shown = line;
      process.stderr.write(`${CLEAR_LINE}${cutToWidth(cellText(line), (process.stderr.columns || 80) - 1)}`);
    },
    write: (chunk) => process.stdout.write(safeFor(process.stdout, chunk, env)),
    get interrupted() {
      if (process.listenerCount('SIGINT') === 0) process.once('SIGINT', () => interrupt.abort());
      return interrupt.signal;
    },
    openStreams: openProcessStreams,
  };
}

/** Signals that are passed on to a program that runs elsewhere. */
const PASSED_SIGNALS = ['INT', 'TERM', 'HUP', 'QUIT', 'USR1', 'USR2'] as const;
const DEFAULT_SIZE = { columns: 80, rows: 24 };

function openProcessStreams(): TerminalStreams {
  const { stdin, stdout, stderr } = process;
  return {
    input: stdin,
    output: stdout,
    errors: stderr,
    isTerminal: stdin.isTTY === true && stdout.isTTY === true,
    isInputTerminal: stdin.isTTY === true,
    size: () => ({ columns: stdout.columns || DEFAULT_SIZE.columns, rows: stdout.rows || DEFAULT_SIZE.rows }),
    setRaw: (isRaw) => {
      if (stdin.isTTY) stdin.setRawMode(isRaw);
    },
    onResize: (listener) => {
      stdout.on('resize', listener);
      return () => stdout.off('resize', listener);
    },
    onSignal: (listener) => {
      const listeners = PASSED_SIGNALS.map((name) => [`SIG${name}`, () => listener(name)] as const);
      for (const [signal, onSignal] of listeners) process.on(signal, onSignal);
      return () => {
        for (const [signal, onSignal] of listeners) process.off(signal, onSignal);
      };
    },
  };
}

/** Reads a line from the terminal. Ctrl-C, which the line editor receives as a character, aborts `interrupt`. */
async function readLine(question: string, output: NodeJS.WritableStream, interrupt: AbortController): Promise<string> {
  const lines = createInterface({ input: process.stdin, output, terminal: true });
  lines.once('SIGINT', () => interrupt.abort());
  return lines.question(question, { signal: interrupt.signal }).finally(() => lines.close());
}
