import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants } from 'node:os';
import { type Readable, Writable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { Failure } from '../../core/errors.ts';
import { takeTurn } from '../../core/flow/turns.ts';
import { newId } from '../../core/ids.ts';
import { EXEC_MARKER, type ExecRequest, type Execution, type Program, TERM, type TerminalSize } from '../execution.ts';
import { GuardedProgram, guardRequest } from '../program-guard.ts';
import { WORKLOAD_OOM_SCORE } from '../workload-spec.ts';
import { type GroupId, readText } from './process-group.ts';

/** Owns the starts of programs on the event loop: each takes a large process milliseconds. */
const PROGRAMS = 'programs';
/** Like the workload itself, it is killed before Podyard when memory is short. */
const RUN = `{ echo ${WORKLOAD_OOM_SCORE} >/proc/self/oom_score_adj; } 2>/dev/null; exec "$@"`;

/**
 * Runs a program beside a workload: in its folder, with the environment of its leader. A terminal comes from `script`, which
 * every Linux has with util-linux; its device is reported on descriptor 3, and resized by `stty`.
 */
export async function runInWorkload(folder: string, leader: GroupId, request: ExecRequest): Promise<Execution> {
  const environ = readText(`/proc/${leader.pid}/environ`);
  if (environ === '') {
    throw new Failure('conflict', 'Programs can be run in a workload only on Linux, while its own process runs');
  }
  const marker = request.marker ?? newId<string>();
  const env = parseEnviron(environ);
  return GuardedProgram.start(
    () => startProgram(folder, { ...env, [EXEC_MARKER]: marker }, request),
    () => startProgram(folder, env, guardRequest(marker, { hasInput: true })),
  );
}

async function startProgram(
  folder: string,
  env: Readonly<Record<string, string>>,
  request: ExecRequest,
): Promise<Program> {
  const options = { cwd: folder, detached: true } as const;
  const input = request.hasInput || request.terminal ? 'pipe' : 'ignore';
  await takeTurn(PROGRAMS);
  const child = request.terminal
    ? spawn('script', ['-q', '-e', '-f', '-c', inTerminal(request.command, request.terminal), '/dev/null'], {
        ...options,
        env: { ...env, TERM, SHELL: '/bin/sh' },
        stdio: [input, 'pipe', 'pipe', 'pipe'],
      })
    : spawn('/bin/sh', ['-c', RUN, 'podyard', ...request.command], {
        ...options,
        env,
        stdio: [input, 'pipe', 'pipe'],
      });
  await once(child, 'spawn').catch((cause) => {
    const text = request.terminal
      ? 'A terminal needs the program `script` (util-linux) on this machine; run the command without a terminal'
      : 'The program could not be started on this machine';
    throw new Failure('conflict', text, { cause });
  });
  return new ChildProgram(child, request.terminal !== null);
}

class ChildProgram implements Program {
  readonly input: Writable;
  readonly output: Readable;
  readonly errors: Readable | null;
  readonly exitCode: Promise<number>;
  readonly #child: ChildProcess;
  /** The path of its terminal's device, once it is known. */
  readonly #device: Promise<string> | null;
  #hasExited = false;

  constructor(child: ChildProcess, hasTerminal: boolean) {
    this.#child = child;
    this.input = child.stdin ?? noInput();
    this.output = child.stdout!;
    this.errors = hasTerminal ? null : child.stderr!;
    if (hasTerminal) child.stderr!.resume();
    for (const stream of [this.input, this.output, child.stderr!]) stream.on('error', () => {}); // the program has ended
    this.#device = hasTerminal ? readDevice(child.stdio[3] as Readable) : null;
    this.exitCode = this.#exited();
    this.exitCode.catch(() => {});
  }

  async resize({ columns, rows }: TerminalSize): Promise<void> {
    const device = await this.#device;
    if (!device || this.#hasExited) return;
    const stty = spawn('stty', ['-F', device, 'rows', String(rows), 'cols', String(columns)], { stdio: 'ignore' });
    await once(stty, 'exit').catch(() => {}); // the program may have ended meanwhile
  }

  close(): void {
    for (const stream of [this.input, this.output, this.#child.stderr]) stream?.destroy();
  }

  async #exited(): Promise<number> {
    const [code, signal] = (await once(this.#child, 'exit')) as [number | null, NodeJS.Signals | null];
    this.#hasExited = true;
    const streams = [this.output, this.errors].filter((stream) => stream !== null);
    await Promise.all(streams.map((stream) => finished(stream, { writable: false }).catch(() => {})));
    return code ?? 128 + constants.signals[signal!];
  }
}

/** A command line for `script`, which passes it to a shell. */
function inTerminal(command: readonly string[], { columns, rows }: TerminalSize): string {
  const words = ['/bin/sh', '-c', RUN, 'podyard', ...command].map((word) => `'${word.replaceAll("'", "'\\''")}'`);
  return `stty rows ${rows} cols ${columns}; tty >&3; exec 3>&-; exec ${words.join(' ')}`;
}

/** `script` itself keeps the descriptor open, so the line's end counts, not the stream's. */
async function readDevice(stream: Readable): Promise<string> {
  let text = '';
  try {
    for await (const chunk of stream) {
      text += String(chunk);
      if (text.endsWith('\n')) break;
    }
  } catch {
    // it ended before it had a terminal
  }
  return text.trim();
}

/** Discards what is written to a program without input. */
function noInput(): Writable {
  return new Writable({ write: (_chunk, _encoding, done) => done() });
}

function parseEnviron(environ: string): Record<string, string> {
  const entries = environ.split('\0').filter((entry) => entry.includes('='));
  return Object.fromEntries(
    entries.map((entry) => [entry.slice(0, entry.indexOf('=')), entry.slice(entry.indexOf('=') + 1)]),
  );
}
