import { execFileSync } from 'node:child_process';

const SCRIPTS = { console: 'console/build.ts', docs: 'scripts/build-docs.ts' };

/** Builds what a test needs in `dist/`, unless nothing it is made from has changed since. Throws with what the build printed. */
export function buildIfStale(part: keyof typeof SCRIPTS): void {
  const { NODE_ENV: _, ...env } = process.env; // vitest sets it to `test`, and React would be built for that
  execFileSync(process.execPath, [SCRIPTS[part], '--if-stale'], {
    cwd: new URL('..', import.meta.url),
    env,
    stdio: 'pipe',
  });
}
