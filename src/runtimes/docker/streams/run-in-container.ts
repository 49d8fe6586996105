import type { Duplex, Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { Failure, notFound } from '../../../core/errors.ts';
import { newId } from '../../../core/ids.ts';
import { type Engine, EngineError } from '../../../engine/engine.ts';
import { isRefusal } from '../../../engine/refusal.ts';
import {
  EXEC_MARKER,
  type ExecRequest,
  type Execution,
  JoinedOutput,
  notRunning,
  type Program,
  TERM,
  type TerminalSize,
} from '../../execution.ts';
import { GuardedProgram, guardRequest } from '../../program-guard.ts';
import { EngineFrames } from './engine-frames.ts';

/** The engine may still say that a program runs whose output has just ended. */
const END_POLLS = 40;
const END_POLL_MS = 50;
/** Podman's words for what Docker says with a 409. */
const ENDED = /exec sessions on running containers/i;

interface ExecDetails {
  Running: boolean;
  ExitCode: number | null;
}

/** Runs a program in a container by the engine's exec API. `container` is a name. */
export function runInContainer(engine: Engine, container: string, request: ExecRequest): Promise<Execution> {
  const marker = request.marker ?? newId<string>();
  return GuardedProgram.start(
    () => startProgram(engine, container, request, marker),
    () => startProgram(engine, container, guardRequest(marker, { hasInput: true }), null),
  );
}

async function startProgram(
  engine: Engine,
  container: string,
  request: ExecRequest,
  marker: string | null,
): Promise<Program> {
  const id = await createExec(engine, container, request, marker);
  const socket = await engine.hijack({
    method: 'POST',
    path: `/exec/${id}/start`,
    body: { Detach: false, Tty: request.terminal !== null, ...consoleSize(request.terminal) },
  });
  const program = new ContainerProgram(engine, id, socket, request);
  if (request.terminal) await program.resize(request.terminal);
  return program;
}

async function createExec(
  engine: Engine,
  container: string,
  { command, terminal, hasInput }: ExecRequest,
  marker: string | null,
): Promise<string> {
  const hasTerminal = terminal !== null;
  const body = {
    AttachStdin: hasInput || hasTerminal,
    AttachStdout: true,
    AttachStderr: true,
    Tty: hasTerminal,
    ...consoleSize(terminal),
    Cmd: command,
    Env: [...(marker === null ? [] : [`${EXEC_MARKER}=${marker}`]), ...(hasTerminal ? [`TERM=${TERM}`] : [])],
  };
  try {
    const path = `/containers/${container}/exec`;
    return (await engine.json<{ Id: string }>({ method: 'POST', path, body })).Id;
  } catch (error) {
    if (isRefusal(error, 404)) throw notFound('Workload');
    if (isRefusal(error, 409, /paused/i)) throw notRunning('frozen');
    if (isRefusal(error, 409) || isRefusal(error, 500, ENDED)) throw notRunning('exited');
    throw error;
  }
}

/** The size that a program finds at its start. Engines before API 1.42 ignore it and learn it from the first resize. */
function consoleSize(terminal: TerminalSize | null): { ConsoleSize?: [rows: number, columns: number] } {
  return terminal ? { ConsoleSize: [terminal.rows, terminal.columns] } : {};
}

class ContainerProgram implements Program {
  readonly input: Writable;
  readonly exitCode: Promise<number>;
  readonly #engine: Engine;
  readonly #id: string;
  readonly #socket: Duplex;
  readonly #joined: JoinedOutput;
  readonly #hasTerminal: boolean;

  constructor(engine: Engine, id: string, socket: Duplex, { terminal, hasInput }: ExecRequest) {
    this.#engine = engine;
    this.#id = id;
    this.#socket = socket;
    this.#hasTerminal = terminal !== null;
    this.#joined = new JoinedOutput(!this.#hasTerminal, () => socket.resume());
    this.input = socket;
    this.exitCode = this.#run();
    this.exitCode.catch(() => {});
    socket.on('error', () => {}); // `exitCode` rejects with it
    if (!hasInput && !this.#hasTerminal) socket.end();
  }

  get output() {
    return this.#joined.output;
  }

  get errors() {
    return this.#joined.errors;
  }

  async resize({ columns, rows }: TerminalSize): Promise<void> {
    if (!this.#hasTerminal) return;
    const request = { method: 'POST', path: `/exec/${this.#id}/resize`, query: { h: rows, w: columns } } as const;
    await this.#engine.json(request).catch((error) => {
      if (!(error instanceof EngineError)) throw error; // else it has just ended
    });
  }

  close(): void {
    this.#socket.destroy();
    this.#joined.destroy();
  }

  async #run(): Promise<number> {
    try {
      await this.#readSocket();
    } finally {
      this.#joined.end();
    }
    const code = await this.#readExitCode();
    await this.#joined.read();
    return code;
  }

  #readSocket(): Promise<void> {
    const frames = new EngineFrames();
    return new Promise((resolve, reject) => {
      this.#socket.on('data', (chunk: Buffer) => {
        if (this.#hasTerminal) this.#joined.write('output', chunk);
        else for (const { stream, bytes } of frames.take(chunk)) this.#joined.write(stream, bytes);
        if (this.#joined.isFull) this.#socket.pause();
      });
      this.#socket.once('error', (cause) => reject(connectionLost(cause)));
      this.#socket.once('end', resolve);
      this.#socket.once('close', resolve);
    });
  }

  async #readExitCode(): Promise<number> {
    for (let poll = 0; poll < END_POLLS; poll++) {
      const path = `/exec/${this.#id}/json`;
      const details = await this.#engine.json<ExecDetails>({ method: 'GET', path }).catch((error) => {
        if (isRefusal(error, 404)) throw notRunning('exited'); // the container is gone, and its programs with it
        throw error;
      });
      if (!details.Running && details.ExitCode !== null) return details.ExitCode;
      await sleep(END_POLL_MS);
    }
    throw connectionLost();
  }
}

function connectionLost(cause?: unknown): Failure {
  return new Failure('unavailable', 'The connection to the program was lost', { cause });
}
