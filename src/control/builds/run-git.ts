import { spawn } from 'node:child_process';

/**
 * Git's own program as a child: in a process group of its own, which ends as a whole, with limits of time, output and file sizes. What
 * it may do is in its environment and its configuration (git-repository.ts), never in its arguments.
 */
const SHELL = `
{ echo 1000 >/proc/self/oom_score_adj; } 2>/dev/null
trap '' XFSZ # a write that is too long fails, and git says so
ulimit -f "$1" || exit 126
shift
exec nice -n 10 "$@"
`;
/** The unit of `ulimit -f`. */
const BLOCK_BYTES = 512;
const MAX_ERROR_CHARS = 16_384;

interface GitRun {
  args: readonly string[];
  folder: string;
  env: Readonly<Record<string, string>>;
  /** Limit of each file that it writes. */
  maxFileBytes: number;
  maxOutputBytes: number;
  signal: AbortSignal;
}

export interface GitResult {
  /** The exit code, or the signal that ended it. */
  end: number | NodeJS.Signals;
  stdout: Buffer;
  /** Its last characters. */
  stderr: string;
  /** It printed more than it may, and was ended. */
  isTooLong: boolean;
}

/** Resolves once nothing of it runs any more. Rejects when `signal` aborts, and without a shell on this machine. */
export async function runGit({ args, folder, env, maxFileBytes, maxOutputBytes, signal }: GitRun): Promise<GitResult> {
  signal.throwIfAborted();
  const blocks = String(Math.ceil(maxFileBytes / BLOCK_BYTES));
  const child = spawn('/bin/sh', ['-c', SHELL, 'podyard', blocks, 'git', ...args], {
    cwd: folder,
    env,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const kill = () => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
    } catch {
      // all of it has ended
    }
  };
  const pieces: Buffer[] = [];
  let bytes = 0;
  let stderr = '';
  child.stdout.on('data', (piece: Buffer) => {
    bytes += piece.length;
    if (bytes > maxOutputBytes) kill();
    else pieces.push(piece);
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr = (stderr + text).slice(-MAX_ERROR_CHARS);
  });
  child.once('exit', kill); // what it has left behind
  signal.addEventListener('abort', kill);
  try {
    const end = await new Promise<number | NodeJS.Signals>((resolve, reject) => {
      child.once('error', reject);
      child.once('close', (code, ended) => resolve(code ?? ended ?? 'SIGKILL'));
    });
    return { end, stdout: Buffer.concat(pieces), stderr, isTooLong: bytes > maxOutputBytes };
  } finally {
    signal.removeEventListener('abort', kill);
    signal.throwIfAborted();
  }
}
