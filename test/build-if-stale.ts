import { execFileSync } from 'node:child_process';

/** Builds a part of `dist/` unless it is newer than its sources. Throws with the output of a build that fails. */
export function buildIfStale(part: 'console' | 'docs'): void {
  const { NODE_ENV: _, ...env } = process.env; // vitest sets it to `test`, which would build React for development
  execFileSync('sh', ['scripts/build-stale.sh', part], {
    cwd: new URL('..', import.meta.url),
    env,
    stdio: 'pipe',
  });
}
