import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { encodeFrame, FrameReader } from '../../../core/web-socket-frames.ts';
import type { ExecRequest, Execution } from '../../execution.ts';
import { GUARD_SCRIPT } from '../../program-guard.ts';
import { ApiServer } from '../api/api-server.ts';
import { openAccess } from '../api/cluster-access.ts';
import { CHANNELS } from './pod-channels.ts';
import { PodPrograms } from './run-in-pod.ts';

/** Imitates the exec connections of an API server: `script` is the program. */
let script: (program: FakeProgram) => void;
let protocols: string[];
let refusal: { status: number; body: object } | null;
let server: Server;
let api: ApiServer;
let programs: PodPrograms;
const commands: string[][] = [];
/** The guards of programs, and the words that each has received. */
let guards: { told: string; cut: () => void }[];

const PATH = '/api/v1/namespaces/here/pods/podyard-w1';
const ECHO: ExecRequest = { command: ['cat'], terminal: null, hasInput: true };
const SUCCESS = { status: 'Success' };
const exited = (code: number) => ({
  status: 'Failure',
  reason: 'NonZeroExitCode',
  details: { causes: [{ reason: 'ExitCode', message: String(code) }] },
});

class FakeProgram {
  readonly query: URLSearchParams;
  readonly #socket: Socket;
  onMessage: (channel: number, bytes: Buffer) => void = () => {};

  constructor(request: IncomingMessage, socket: Socket) {
    this.query = new URL(request.url!, 'http://fake').searchParams;
    this.#socket = socket;
    const reader = new FrameReader({ isMasked: true, maxMessageBytes: 2 ** 20 });
    socket.on('data', (chunk: Buffer) => {
      for (const message of reader.take(chunk)) {
        if (message.kind === 'binary') this.onMessage(message.bytes[0]!, message.bytes.subarray(1));
      }
    });
    socket.on('error', () => {});
  }

  send(channel: number, bytes: Buffer | string): void {
    const message = Buffer.concat([Buffer.of(channel), Buffer.from(bytes)]);
    this.#socket.write(encodeFrame({ kind: 'binary', bytes: message }));
  }

  exit(status: object): void {
    this.send(CHANNELS.status, JSON.stringify(status));
    this.#socket.end(encodeFrame({ kind: 'close', code: 1000 }));
  }

  cut(): void {
    this.#socket.destroy();
  }
}

beforeEach(async () => {
  protocols = ['v5.channel.k8s.io', 'v4.channel.k8s.io'];
  refusal = null;
  commands.length = 0;
  guards = [];
  server = createServer((_request, response) => {
    response.writeHead(refusal!.status, { 'content-type': 'application/json' }).end(JSON.stringify(refusal!.body));
  });
  server.on('upgrade', (request: IncomingMessage, socket: Socket) => {
    if (refusal) {
      const body = JSON.stringify(refusal.body);
      socket.end(`HTTP/1.1 ${refusal.status} No\r\ncontent-length: ${body.length}\r\n\r\n${body}`);
      return;
    }
    const accept = createHash('sha1')
      .update(`${request.headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`)
      .digest('base64');
    const protocol = protocols.find((one) => request.headers['sec-websocket-protocol']!.includes(one));
    socket.write(
      `HTTP/1.1 101 Switching\r\nupgrade: websocket\r\nconnection: Upgrade\r\nsec-websocket-accept: ${accept}\r\nsec-websocket-protocol: ${protocol}\r\n\r\n`,
    );
    const program = new FakeProgram(request, socket);
    const command = program.query.getAll('command');
    if (command.includes(GUARD_SCRIPT)) {
      guard(program);
      return;
    }
    commands.push(command);
    if (command.length === 1 && command[0] === 'env') program.exit(SUCCESS);
    else script(program);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  api = new ApiServer(async () => openAccess(`http://127.0.0.1:${(server.address() as AddressInfo).port}`));
  programs = new PodPrograms(api);
});
afterEach(async () => {
  await api.close();
  server.closeAllConnections();
  server.close();
});

/** Answers each signal, and ends at the word for it. */
function guard(program: FakeProgram): void {
  const own = { told: '', cut: () => program.cut() };
  guards.push(own);
  program.onMessage = (channel, bytes) => {
    if (channel !== CHANNELS.input) return;
    own.told += bytes;
    if (/^(end|leave)$/m.test(own.told)) program.exit(SUCCESS);
    else program.send(CHANNELS.output, bytes);
  };
}

const run = (request: Partial<ExecRequest> = {}) => programs.run(PATH, 'uid', { ...ECHO, ...request });

/** Reads what it prints and returns its exit code. */
function codeOf(program: Execution): Promise<number> {
  program.output.resume();
  program.errors?.resume();
  return program.exitCode;
}

async function textOf(stream: AsyncIterable<unknown> | null): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream ?? []) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}

test('input, output, errors, the end of the input and the exit code pass through the channels', async () => {
  script = (program) => {
    program.onMessage = (channel, bytes) => {
      if (channel === CHANNELS.input) program.send(CHANNELS.output, bytes);
      if (channel !== CHANNELS.close) return;
      program.send(CHANNELS.errors, 'oops');
      program.exit(exited(3));
    };
  };
  const program = await run();
  program.input.write('héllo ');
  program.input.end('🦄');
  const answers = await Promise.all([textOf(program.output), textOf(program.errors), program.exitCode]);
  expect(answers).toEqual(['héllo 🦄', 'oops', 3]);
});

test('the request names the container, the streams and the command, marked so that a signal finds it', async () => {
  let query = new URLSearchParams();
  script = (program) => {
    query = program.query;
    program.exit(SUCCESS);
  };
  await codeOf(await run({ command: ['sh', '-c', 'echo "a b"'], hasInput: false }));
  expect(commands[0]).toEqual(['env']);
  expect(commands[1]).toEqual(['env', expect.stringMatching(/^PODYARD_EXEC=\w+$/), 'sh', '-c', 'echo "a b"']);
  expect(Object.fromEntries(query)).toMatchObject({
    container: 'workload',
    stdin: 'false',
    stdout: 'true',
    stderr: 'true',
    tty: 'false',
  });
  await codeOf(await run({ terminal: { columns: 80, rows: 24 } }));
  expect(commands).toHaveLength(3); // the pod is known
  expect(query.get('tty')).toBe('true');
  expect(query.get('stderr')).toBe('false');
});

test('a terminal reports its size at the start and when it changes', async () => {
  const sizes: unknown[] = [];
  script = (program) => {
    program.onMessage = (channel, bytes) => {
      if (channel === CHANNELS.resize) sizes.push(JSON.parse(bytes.toString()));
      if (sizes.length === 2) program.exit(SUCCESS);
    };
  };
  const program = await run({ terminal: { columns: 80, rows: 24 } });
  await program.resize({ columns: 132, rows: 50 });
  await codeOf(program);
  expect(sizes).toEqual([
    { Width: 80, Height: 24 },
    { Width: 132, Height: 50 },
  ]);
});

test('a program that is read slowly is paused, not held in memory', async () => {
  const chunk = Buffer.alloc(64 * 1024, 'x');
  let sent = 0;
  script = (program) => {
    for (; sent < 400; sent++) program.send(CHANNELS.output, chunk);
    program.exit(SUCCESS);
  };
  const program = await run();
  const { promise: paused, resolve } = Promise.withResolvers<void>();
  program.output.once('readable', () => setImmediate(resolve));
  await paused;
  expect(program.output.readableLength).toBeLessThan(4 * 2 ** 20);
  program.errors?.resume();
  expect((await textOf(program.output)).length).toBe(400 * chunk.length);
  expect(await program.exitCode).toBe(0);
});

test('an older API server, which cannot end the input, is refused in words instead of waiting for ever', async () => {
  protocols = ['v4.channel.k8s.io'];
  script = () => {};
  const program = await run();
  program.input.end('x');
  await expect(codeOf(program)).rejects.toThrow('Kubernetes 1.30');
});

test('a program’s guard receives signals, its end, or that the program has ended, and is replaced when it is lost', async () => {
  let exit = () => {};
  script = (program) => {
    exit = () => program.exit(SUCCESS);
  };
  const ended = await run();
  await ended.signal('INT');
  await ended.end();
  expect(guards.map(({ told }) => told)).toEqual(['INT\nend\n']);
  const lost = await run();
  await lost.signal('INT');
  guards[1]!.cut();
  await expect.poll(() => lost.signal('TERM').then(() => true, () => false)).toBe(true); // biome-ignore format: one thing
  exit();
  await codeOf(lost);
  await expect.poll(() => guards.slice(1).map(({ told }) => told)).toEqual(['INT\n', 'TERM\nleave\n']);
});

test('a command that the image does not have exits with 127; another failure is in the server’s words', async () => {
  script = (program) =>
    program.exit({ status: 'Failure', message: 'exec: "nosuch": executable file not found in $PATH: unknown' });
  expect(await codeOf(await run())).toBe(127);
  script = (program) => program.exit({ status: 'Failure', message: 'container is in CONTAINER_EXITED state' });
  await expect(codeOf(await run())).rejects.toThrow('CONTAINER_EXITED');
});

test('a lost connection and frames that make no sense are failures', async () => {
  script = (program) => program.cut();
  await expect(codeOf(await run())).rejects.toThrow('connection to the program was lost');
  script = (program) => program.send(CHANNELS.output, Buffer.alloc(2 ** 21));
  await expect(codeOf(await run())).rejects.toThrow('connection to the program was lost');
});

test('a missing right and a missing pod are said in words', async () => {
  refusal = { status: 403, body: { message: 'pods "podyard-w1" is forbidden', reason: 'Forbidden' } };
  await expect(run()).rejects.toMatchObject({ kind: 'conflict', message: expect.stringContaining('rbac.terminal') });
  refusal = { status: 404, body: { message: 'pods "podyard-w1" not found', reason: 'NotFound' } };
  await expect(run()).rejects.toMatchObject({ kind: 'notFound' });
});
