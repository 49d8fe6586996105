/**
 * Builds the web console into dist/console, and compresses its scripts and styles with Brotli and gzip. `--if-stale`
 * skips a build that is newer than all of its sources. Fails if the scripts of the first load exceed their budget.
 */
import { readdirSync, statSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const CONSOLE = join(ROOT, 'console');
const OUT = join(ROOT, 'dist/console');
const OPENAPI = join(ROOT, 'api/openapi.json');
/** Limit for the scripts of the first load, gzipped. */
const FIRST_LOAD_BUDGET_KIB = 250;

if (process.argv.includes('--if-stale') && !isStale()) process.exit(0);
console.log('setup: building the web console (a few seconds)');
await writeTypes();
process.chdir(CONSOLE);
const { build } = await import('vite');
await build({ root: CONSOLE, logLevel: 'warn', build: { outDir: OUT, emptyOutDir: true } });
await compress();

function isStale(): boolean {
  const builtAt = mtime(join(OUT, 'index.html'));
  const sources = readdirSync(join(CONSOLE, 'src'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !/\.(gen|test)\.ts$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name));
  const configs = ['index.html', 'vite.config.ts', 'package.json'].map((name) => join(CONSOLE, name));
  return [...sources, ...configs, OPENAPI, import.meta.filename].some((file) => mtime(file) > builtAt);
}

function mtime(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}

/** Generates the console's API types from the OpenAPI document, all that it knows of the server. */
async function writeTypes(): Promise<void> {
  const { default: openapiTS, astToString } = await import('openapi-typescript');
  const text = astToString(await openapiTS(new URL(`file://${OPENAPI}`), { defaultNonNullable: false }));
  await writeFile(join(CONSOLE, 'src/api/types.gen.ts'), text);
}

async function compress(): Promise<void> {
  const assets = join(OUT, 'assets');
  const gzippedSizes = new Map<string, number>();
  for (const name of readdirSync(assets)) {
    if (!/\.(js|css|svg)$/.test(name)) continue;
    const body = await readFile(join(assets, name));
    const params = { [constants.BROTLI_PARAM_QUALITY]: 9, [constants.BROTLI_PARAM_SIZE_HINT]: body.length };
    await writeFile(join(assets, `${name}.br`), brotliCompressSync(body, { params }));
    const gzipped = gzipSync(body);
    await writeFile(join(assets, `${name}.gz`), gzipped);
    gzippedSizes.set(name, gzipped.length);
  }
  const html = await readFile(join(OUT, 'index.html'), 'utf8');
  const first = [...gzippedSizes].filter(([name]) => name.endsWith('.js') && html.includes(name));
  const kib = first.reduce((sum, [, size]) => sum + size, 0) / 1024;
  console.log(`setup: the console's first load is ${kib.toFixed(0)} KiB of script`);
  if (kib > FIRST_LOAD_BUDGET_KIB) throw new Error(`the first load exceeds its budget of ${FIRST_LOAD_BUDGET_KIB} KiB`);
}
