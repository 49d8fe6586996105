/**
 * The entry point. Everything else is loaded after the compile cache is on, so that the next start finds it compiled, and
 * TypeScript stripped. That of this file alone is not: `npm start` names the folder beforehand, which saves the memory and
 * the time of loading Node.js's TypeScript parser. Data processes inherit the folder.
 */
import { enableCompileCache } from 'node:module';
import { fileURLToPath } from 'node:url';

const CACHE = fileURLToPath(new URL('../node_modules/.cache/podyard', import.meta.url));
enableCompileCache(CACHE);
process.env.NODE_COMPILE_CACHE ??= CACHE;
if (process.getuid?.() === 0 && process.env.PODYARD_USER) {
  const { becomeUser } = await import('./compose/become-user.ts');
  try {
    becomeUser(process.env);
  } catch (error) {
    console.error(`error: ${error instanceof Error ? error.message : error}`);
    process.exit(1);
  }
}
await import('./run.ts');
