/**
 * The guard of a program that a user runs in a workload. No exec API can signal or kill what it started, and all leave it
 * running when the connection closes. So a second program, a shell, waits beside it: the server sends it signals to pass on,
 * and when its input ends without a word (the server was killed, the connection is gone), it ends the program.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Failure } from '../core/errors.ts';
import { EXEC_MARKER, type ExecRequest, type ExecSignal, type Execution, type Program } from './execution.ts';

/**
 * `$1`: the value of the marker that the program and all that it starts have in their environment, and the guard has not. It
 * answers each signal with a line once it is sent. A program that is ended gets a second between SIGHUP and SIGKILL; SIGCONT
 * lets a stopped one handle the first. It counts as gone when it is missed twice: a process that executes another program has
 * no environment for a moment.
 */
export const GUARD_SCRIPT = `command -v grep >/dev/null || exit 127
marker=$1
send() {
  found=1
  for file in $(grep -ls "${EXEC_MARKER}=$marker" /proc/[0-9]*/environ 2>/dev/null); do
    pid=\${file#/proc/}
    kill -s "$1" "\${pid%/environ}" 2>/dev/null && found=0
  done
  return $found
}
while read -r word; do
  case $word in
    leave) exit 0 ;;
    end) break ;;
    *) send "$word"; echo "$word" ;;
  esac
done
misses=0
for step in HUP:0.1 CONT:0.3 CONT:0.6 KILL:0.1 KILL:0.1 KILL:0.1 KILL:0.1; do
  if send "\${step%:*}"; then misses=0; else misses=$((misses + 1)); fi
  [ "$misses" -lt 2 ] || exit 0
  sleep "\${step#*:}" 2>/dev/null || sleep 1
done
exit 0`;

/** How long a guard may take to end a program. */
const END_MS = 4_000;
/** Exit codes of a command that could not be started, as of an image without a shell or grep. */
const NOT_STARTED = [126, 127];
const NEWLINE = 10;

/** The request that runs the guard of a program. With an empty input it ends what is left of the program, and itself. */
export function guardRequest(marker: string, { hasInput }: Pick<ExecRequest, 'hasInput'>): ExecRequest {
  return { command: ['/bin/sh', '-c', GUARD_SCRIPT, 'podyard', marker], terminal: null, hasInput };
}

export function noShell(): Failure {
  return new Failure('conflict', 'The image has no /bin/sh and grep, which signals to a program need');
}

/** A program with its guard. */
export class GuardedProgram implements Execution {
  readonly #program: Program;
  readonly #startGuard: () => Promise<Program>;
  #guard: Promise<Guard>;
  #isOver = false;
  #ending: Promise<void> | undefined;

  /** Starts both at the same time. Rejects when the program could not be started. */
  static async start(
    startProgram: () => Promise<Program>,
    startGuard: () => Promise<Program>,
  ): Promise<GuardedProgram> {
    const guard = newGuard(startGuard);
    try {
      return new GuardedProgram(await startProgram(), guard, startGuard);
    } catch (error) {
      void leave(guard);
      throw error;
    }
  }

  private constructor(program: Program, guard: Promise<Guard>, startGuard: () => Promise<Program>) {
    this.#program = program;
    this.#guard = guard;
    this.#startGuard = startGuard;
    program.exitCode.then(
      () => {
        this.#isOver = true;
        void leave(this.#guard);
      },
      () => this.end(), // without its connection it has no client
    );
  }

  get input() {
    return this.#program.input;
  }

  get output() {
    return this.#program.output;
  }

  get errors() {
    return this.#program.errors;
  }

  get exitCode() {
    return this.#program.exitCode;
  }

  async resize(size: Parameters<Program['resize']>[0]): Promise<void> {
    if (!this.#isOver) await this.#program.resize(size);
  }

  async signal(name: ExecSignal): Promise<void> {
    if (!this.#isOver) await (await this.#currentGuard()).signal(name);
  }

  end(): Promise<void> {
    this.#ending ??= this.#end();
    return this.#ending;
  }

  async #end(): Promise<void> {
    this.#program.output.resume();
    this.#program.errors?.resume();
    if (!this.#isOver) {
      const ended = this.#currentGuard().then((guard) => guard.end());
      await Promise.race([ended.catch(() => {}), sleep(END_MS, undefined, { ref: false })]);
      this.#guard.then((guard) => guard.close()).catch(() => {});
    }
    this.#program.close();
  }

  /** Replaces a guard that was lost: its connection was cut, or the user has killed it. */
  async #currentGuard(): Promise<Guard> {
    const guard = await this.#guard.catch(() => null);
    if (guard && !guard.isLost) return guard;
    this.#guard = newGuard(this.#startGuard);
    return this.#guard;
  }
}

/** Its rejection is not unhandled: it is seen by the next that needs the guard. */
function newGuard(start: () => Promise<Program>): Promise<Guard> {
  const guard = start().then((program) => new Guard(program));
  guard.catch(() => {});
  return guard;
}

/** Lets the guard of a program that has ended go, which leaves alone what the program has left running on purpose. */
async function leave(guard: Promise<Guard>): Promise<void> {
  await guard.then((one) => one.leave()).catch(() => {});
}

class Guard {
  readonly #program: Program;
  readonly #waiting: (() => void)[] = [];
  readonly #ended: Promise<never>;
  #exitCode: number | null = null;
  #isCut = false;

  constructor(program: Program) {
    this.#program = program;
    program.errors?.resume();
    program.output.on('data', (chunk: Buffer) => {
      for (const byte of chunk) if (byte === NEWLINE) this.#waiting.shift()?.();
    });
    this.#ended = this.#watch();
    this.#ended.catch(() => {});
  }

  /** True when it has ended, but not because the workload lacks what it needs. */
  get isLost(): boolean {
    return this.#isCut || (this.#exitCode !== null && !NOT_STARTED.includes(this.#exitCode));
  }

  /** Resolves once the signal is sent. */
  async signal(name: ExecSignal): Promise<void> {
    const sent = new Promise<void>((resolve) => this.#waiting.push(resolve));
    this.#program.input.write(`${name}\n`);
    await Promise.race([sent, this.#ended]);
  }

  /** Resolves once the program has ended. */
  async end(): Promise<void> {
    this.#program.input.write('end\n');
    await this.#ended.catch(() => {});
  }

  async leave(): Promise<void> {
    this.#program.input.write('leave\n');
    await Promise.race([this.#ended.catch(() => {}), sleep(END_MS, undefined, { ref: false })]);
    this.close();
  }

  close(): void {
    this.#program.close();
  }

  async #watch(): Promise<never> {
    try {
      this.#exitCode = await this.#program.exitCode;
    } catch (error) {
      this.#isCut = true;
      throw error;
    } finally {
      this.close();
    }
    if (NOT_STARTED.includes(this.#exitCode)) throw noShell();
    throw new Failure('unavailable', 'The connection to the program was lost');
  }
}
