import { Writable } from 'node:stream';
import { BoundedMap } from '../../../core/bounded-map.ts';
import { Failure, notFound } from '../../../core/errors.ts';
import { newId } from '../../../core/ids.ts';
import { isRefusal } from '../../../engine/refusal.ts';
import {
  EXEC_MARKER,
  type ExecRequest,
  type Execution,
  JoinedOutput,
  type Program,
  TERM,
  type TerminalSize,
} from '../../execution.ts';
import { GuardedProgram, guardRequest, noShell } from '../../program-guard.ts';
import type { ApiServer } from '../api/api-server.ts';
import { CONTAINER } from '../pods/pod-record.ts';
import { CHANNEL_PROTOCOLS, CHANNELS, PodChannels } from './pod-channels.ts';

const MAX_KNOWN = 1_000;

/** The members used of the `Status` in which the exit code comes. */
interface ExecStatus {
  status?: 'Success' | 'Failure';
  message?: string;
  reason?: string;
  details?: { causes?: { reason?: string; message?: string }[] };
}

/** Runs programs in pods by the API server's exec connections. */
export class PodPrograms {
  readonly #api: ApiServer;
  /** By pod: whether its image has `env`, without which a program cannot be marked, so that signals do not reach it. */
  readonly #canMark = new BoundedMap<string, boolean>(MAX_KNOWN);

  constructor(api: ApiServer) {
    this.#api = api;
  }

  /** `path`: of the pod. */
  async run(path: string, uid: string, request: ExecRequest): Promise<Execution> {
    let canMark = this.#canMark.get(uid);
    if (canMark === undefined) {
      canMark = await this.#probe(path);
      this.#canMark.set(uid, canMark);
    }
    const marker = request.marker ?? newId<string>();
    return GuardedProgram.start(
      () => startProgram(this.#api, path, request, canMark ? marker : null),
      async () => {
        if (!canMark) throw noShell();
        return startProgram(this.#api, path, guardRequest(marker, { hasInput: true }), null);
      },
    );
  }

  async #probe(path: string): Promise<boolean> {
    const probe = await startProgram(this.#api, path, { command: ['env'], terminal: null, hasInput: false }, null);
    probe.output.resume();
    probe.errors?.resume();
    return (await probe.exitCode) === 0;
  }
}

async function startProgram(
  api: ApiServer,
  path: string,
  request: ExecRequest,
  marker: string | null,
): Promise<Program> {
  const { command, terminal, hasInput } = request;
  const isTerminal = terminal !== null;
  const marks = [`${EXEC_MARKER}=${marker}`, ...(isTerminal ? [`TERM=${TERM}`] : [])];
  const words = marker === null ? command : ['env', ...marks, ...command];
  const search = new URLSearchParams({ container: CONTAINER, stdout: 'true' });
  search.set('stdin', String(hasInput || isTerminal));
  search.set('stderr', String(!isTerminal));
  search.set('tty', String(isTerminal));
  for (const word of words) search.append('command', word);
  const { socket, protocol } = await api.upgrade(`${path}/exec`, search).catch((error) => {
    if (isRefusal(error, 404)) throw notFound('Workload');
    if (isRefusal(error, 403)) throw noRight(error);
    throw error;
  });
  const program = new PodProgram(new PodChannels(socket), {
    ...request,
    canEndInput: protocol === CHANNEL_PROTOCOLS[0],
  });
  if (terminal) await program.resize(terminal);
  return program;
}

class PodProgram implements Program {
  readonly input: Writable;
  readonly exitCode: Promise<number>;
  readonly #channels: PodChannels;
  readonly #joined: JoinedOutput;
  readonly #hasTerminal: boolean;
  #status: ExecStatus | undefined;
  #isOver = false;
  /** Why it failed, where the API server does not say. */
  #fault: Failure | undefined;

  constructor(channels: PodChannels, options: ExecRequest & { canEndInput: boolean }) {
    this.#channels = channels;
    this.#hasTerminal = options.terminal !== null;
    this.#joined = new JoinedOutput(!this.#hasTerminal, () => channels.resume());
    this.input = new Writable({
      write: (chunk: Buffer, _encoding, done) => channels.send(CHANNELS.input, chunk, done),
      final: (done) => {
        if (options.canEndInput) channels.send(CHANNELS.close, Buffer.of(CHANNELS.input), done);
        else this.#refuseEnd(done);
      },
    });
    this.input.on('error', () => {}); // the program has ended
    this.exitCode = this.#exited();
    this.exitCode.catch(() => {});
  }

  get output() {
    return this.#joined.output;
  }

  get errors() {
    return this.#joined.errors;
  }

  async resize({ columns, rows }: TerminalSize): Promise<void> {
    if (!this.#hasTerminal || this.#isOver) return;
    this.#channels.send(CHANNELS.resize, Buffer.from(JSON.stringify({ Width: columns, Height: rows })));
  }

  close(): void {
    this.#channels.destroy();
    this.#joined.destroy();
  }

  /** A program that waits for the end of its input would never end: its guard ends it. */
  #refuseEnd(done: () => void): void {
    const text = 'This cluster’s API server cannot end the input of a program; Kubernetes 1.30 and later can';
    if (!this.#hasTerminal) this.#fault = new Failure('conflict', text);
    if (!this.#hasTerminal) this.#channels.destroy();
    done();
  }

  async #exited(): Promise<number> {
    await this.#channels.read((channel, bytes) => {
      if (channel === CHANNELS.status) this.#status = parseStatus(bytes);
      else if (channel === CHANNELS.output) this.#joined.write('output', bytes);
      else if (channel === CHANNELS.errors) this.#joined.write('errors', bytes);
      if (this.#joined.isFull) this.#channels.pause();
    });
    this.#isOver = true;
    this.#joined.end();
    if (this.#fault) throw this.#fault;
    const code = exitCodeOf(this.#status);
    await this.#joined.read();
    return code;
  }
}

function noRight(cause: unknown): Failure {
  const text = 'The server may not run programs in this cluster: grant it pods/exec, in our chart with rbac.terminal';
  return new Failure('conflict', text, { cause });
}

function parseStatus(bytes: Buffer): ExecStatus {
  try {
    return JSON.parse(bytes.toString('utf8')) as ExecStatus;
  } catch {
    return { message: bytes.toString('utf8').slice(0, 300) };
  }
}

function exitCodeOf(status: ExecStatus | undefined): number {
  if (!status) throw new Failure('unavailable', 'The connection to the program was lost');
  if (status.status === 'Success') return 0;
  const cause = status.details?.causes?.find(({ reason }) => reason === 'ExitCode');
  if (cause?.message !== undefined && /^\d+$/.test(cause.message)) return Number(cause.message);
  const isMissing = /executable file not found|no such file/i.test(status.message ?? '');
  if (isMissing) return 127;
  throw new Failure('conflict', `The program could not be run: ${status.message ?? 'the cluster does not say why'}`);
}
