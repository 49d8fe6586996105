/**
 * The entry point. Everything else is loaded after the compile cache is on, so that the next start finds it compiled, and
 * TypeScript stripped. That of this file alone is not: `npm start` names the folder beforehand, which saves the memory and
 * the time of loading Node.js's TypeScript parser. Data processes inherit the folder.
 */
import { statSync } from 'node:fs';
import { constants, enableCompileCache } from 'node:module';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

if (process.getuid?.() === 0 && process.env.PODYARD_USER) {
  const { becomeUser } = await import('./compose/process/become-user.ts');
  try {
    becomeUser(process.env);
  } catch (error) {
    console.error(`error: ${error instanceof Error ? error.message : error}`);
    process.exit(1);
  }
}

/** Before anything uses the pool: with Node's own 4 threads, four files that are synchronized have all other work on files wait. */
process.env.UV_THREADPOOL_SIZE ??= '16';

const OWN = fileURLToPath(new URL('../node_modules/.cache/podyard', import.meta.url));
const { FAILED } = constants.compileCacheStatus;

let folder: string | null = OWN;
if (enableCompileCache(OWN).status === FAILED) {
  folder = inHome();
  if (folder !== null) enableCompileCache(folder);
}
if (folder !== null) process.env.NODE_COMPILE_CACHE ??= folder;
await import('./run.ts');

/** For an installation that this user cannot write to. `null` in another user's home, as under `sudo`: what lies there is run. */
function inHome(): string | null {
  try {
    const home = homedir();
    return statSync(home).uid === process.getuid?.()
      ? join(process.env.XDG_CACHE_HOME || join(home, '.cache'), 'podyard')
      : null;
  } catch {
    return null; // no home
  }
}
