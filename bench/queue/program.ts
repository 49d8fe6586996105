import { type ChildProcess, spawn } from 'node:child_process';

/** A program under test that has reported ready. */
export interface Program {
  pid: number;
  /** The first capture of the ready line. */
  readyAt: string;
  /** From the start of the process to its ready line. */
  readyMs: number;
  /** The end of what it has printed so far. */
  output(): string;
  stop(): Promise<void>;
}

const START_MS = 60_000;

/** Starts a program and waits for a stdout line that matches `ready`. Rejects with its output on timeout. */
export async function startProgram(options: {
  command: string;
  args: string[];
  env?: NodeJS.ProcessEnv;
  ready: RegExp;
}): Promise<Program> {
  const startedAt = performance.now();
  const child = spawn(options.command, options.args, {
    env: { ...process.env, ...options.env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const output = { text: '' };
  const match = await waitForLine(child, options.ready, output);
  const readyMs = performance.now() - startedAt;
  return {
    pid: child.pid!,
    readyAt: match[1]!,
    readyMs,
    output: () => output.text,
    stop: () => stop(child),
  };
}

function waitForLine(child: ChildProcess, ready: RegExp, output: { text: string }): Promise<RegExpMatchArray> {
  return new Promise((resolve, reject) => {
    const fail = (problem: string) => reject(new Error(`${child.spawnargs.join(' ')} ${problem}:\n${output.text}`));
    const timer = setTimeout(() => {
      fail(`was not ready after ${START_MS / 1000} s`);
      child.kill('SIGKILL');
    }, START_MS);
    child.once('error', (error) => fail(error.message));
    child.once('exit', (code) => fail(`ended with ${code}`));
    const read = (piece: Buffer) => {
      output.text = (output.text + piece).slice(-20_000);
      const match = output.text.match(ready);
      if (!match) return;
      clearTimeout(timer);
      resolve(match);
    };
    child.stdout!.on('data', read);
    child.stderr!.on('data', read);
  });
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((resolve) => child.once('exit', resolve));
  const timer = setTimeout(() => child.kill('SIGKILL'), 30_000);
  child.kill('SIGTERM');
  await ended;
  clearTimeout(timer);
}
