import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runCli } from '../src/cli/run-cli.ts';
import type { CliPieces, Screen } from '../src/cli/shared/cli-pieces.ts';
import { type RestFixture, startRestApp } from './rest-app.ts';
import { testTerminal } from './test-terminal.ts';

export interface CliRun {
  status: number;
  /** The output: printed lines, and text written without a line break. */
  out: string;
  err: string;
}

interface RunOptions {
  env?: Record<string, string>;
  /** The content of stdin. */
  input?: string;
  /** Makes the terminal interactive: one answer per prompt. */
  answers?: readonly string[];
  screen?: Screen;
  /** Sees what goes to stderr while the command runs. */
  onNote?: (text: string) => void;
  /** Presses Ctrl-C when it aborts. */
  interrupt?: AbortSignal;
}

/** The command line as a client of the REST app. */
export interface CliFixture {
  rest: RestFixture;
  url: string;
  /** The home directory of the commands. */
  home: string;
  /** Runs one command line with Alice's key in the environment, unless that is overridden. */
  podyard(args: readonly string[], options?: RunOptions): Promise<CliRun>;
  /** Runs it with `--json`; resolves with what it prints. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look at what the server sends
  json(args: readonly string[]): Promise<any>;
  close(): Promise<void>;
}

export async function startCliFixture(options: Parameters<typeof startRestApp>[0] = {}): Promise<CliFixture> {
  const rest = await startRestApp(options);
  const server = createServer((request, response) => rest.handle(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const home = await mkdtemp(join(tmpdir(), 'podyard-cli-'));
  const podyard: CliFixture['podyard'] = (args, more = {}) =>
    runRemote(args, { ...more, env: { PODYARD_URL: url, PODYARD_API_KEY: rest.alice.key, HOME: home, ...more.env } });
  return {
    rest,
    url,
    home,
    podyard,
    json: async (args) => JSON.parse((await podyard([...args, '--json'])).out),
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await rest.close();
      await rm(home, { recursive: true });
    },
  };
}

/** Runs one command line that must not touch a database or a runtime. */
export async function runRemote(args: readonly string[], options: RunOptions): Promise<CliRun> {
  const printed: string[] = [];
  const noted: string[] = [];
  const terminal = testTerminal(options);
  options.interrupt?.addEventListener('abort', terminal.interrupt);
  const unused = (): never => {
    throw new Error('this command must not use it');
  };
  const pieces: CliPieces = {
    serve: async () => unused(),
    demo: async () => unused(),
    withServer: async () => unused(),
    prove: async () => unused(),
    copyModels: async () => unused(),
    serveFiles: async () => unused(),
    withDatabase: async () => unused(),
    doctor: async () => unused(),
    storage: unused,
    systemdUnit: async () => unused(),
    openRuntime: async () => unused(),
    masterKeySource: unused,
    allowsInsecureProcesses: unused,
    terminal,
    print: (text) => printed.push(text),
    note: (text) => {
      noted.push(text);
      options.onNote?.(text);
    },
    ...(options.screen && { screen: options.screen }),
  };
  const status = await runCli(pieces, args);
  return { status, out: [...printed, ...terminal.written].join('\n'), err: noted.join('\n') };
}
