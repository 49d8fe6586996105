import { spawn } from 'node:child_process';
import type { StepOutput } from '../step-output.ts';

/**
 * Builds give way to whatever else the machine does: the lowest priority of the CPU, and the first to be killed when memory is
 * short.
 */
const SHELL = `
{ echo 1000 >/proc/self/oom_score_adj; } 2>/dev/null
exec nice -n 19 "$@"
`;

interface Step {
  command: readonly string[];
  folder: string;
  env: Readonly<Record<string, string>>;
  /** Ends every process of the build, in whatever group or session. */
  killAll(): void;
}

/**
 * Runs a step as a process group. Resolves with its exit code, or the signal that ended it, once nothing of it runs any more:
 * what it has left in the background ends with it. Rejects when `signal` aborts.
 */
export async function runStep(
  { command, folder, env, killAll }: Step,
  output: StepOutput,
  signal: AbortSignal,
): Promise<number | NodeJS.Signals> {
  signal.throwIfAborted();
  const child = spawn('/bin/sh', ['-c', SHELL, 'podyard', ...command], {
    cwd: folder,
    env,
    detached: true, // a session and a process group of its own
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const kill = () => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
    } catch {
      // all of it has ended
    }
    killAll();
  };
  child.stdout.on('data', (bytes: Buffer) => output.write('stdout', bytes, new Date()));
  child.stderr.on('data', (bytes: Buffer) => output.write('stderr', bytes, new Date()));
  child.once('exit', kill);
  signal.addEventListener('abort', kill);
  try {
    return await new Promise<number | NodeJS.Signals>((resolve, reject) => {
      child.once('error', reject);
      child.once('close', (code, ended) => resolve(code ?? ended ?? 'SIGKILL'));
    });
  } finally {
    signal.removeEventListener('abort', kill);
    output.end(new Date());
    signal.throwIfAborted();
  }
}
