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
await import('./run.ts');
