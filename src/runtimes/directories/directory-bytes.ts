import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { promisify } from 'node:util';

const TIMEOUT_MS = 600_000;

/**
 * Returns the bytes of a directory on one file system, without following links; 0 if it does not exist. Uses `du`, which no
 * concurrent rename leads astray.
 */
export async function directoryBytes(path: string): Promise<number> {
  if (!existsSync(path)) return 0;
  try {
    const { stdout } = await promisify(execFile)('du', ['-s', '-k', '-x', '--', path], { timeout: TIMEOUT_MS });
    return parseKibibytes(stdout);
  } catch (error) {
    // du exits with 1 when files vanished while it counted; its count still stands.
    const { stdout, code } = error as { stdout?: string; code?: unknown };
    if (code === 1 && stdout) return parseKibibytes(stdout);
    throw error;
  }
}

function parseKibibytes(text: string): number {
  return Number.parseInt(text, 10) * 1024;
}
