import { execFileSync } from 'node:child_process';

const SCRIPTS = { console: 'console/build.ts', docs: 'scripts/build-docs.ts' };

/** Builds a part of `dist/` unless it is newer than its sources. Throws with the output of a build that fails. */
export function buildIfStale(part: keyof typeof SCRIPTS): void {
  const { NODE_ENV: _, ...env } = process.env; // vitest sets it to `test`, which would build React for development
  execFileSync(process.execPath, [SCRIPTS[part], '--if-stale'], {
    cwd: new URL('..', import.meta.url),
    env,
    stdio: 'pipe',
  });
}
