/**
 * Builds the web console into dist/console, with its scripts and styles packed as browsers take them. With `--if-stale`
 * it does nothing, in a few milliseconds, when the last build is newer than everything it is made of. Fails when the
 * script of the first page grows beyond its budget.
 */
import { readdirSync, statSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const CONSOLE = join(ROOT, 'console');
const OUT = join(ROOT, 'dist/console');
const DESCRIPTION = join(ROOT, 'api/openapi.json');
/** Of the first page's scripts, compressed. */
const FIRST_LOAD_BUDGET_KIB = 250;

if (process.argv.includes('--if-stale') && !isStale()) process.exit(0);
console.log('setup: building the web console, which takes a few seconds');
await writeTypes();
process.chdir(CONSOLE);
const { build } = await import('vite');
await build({ root: CONSOLE, logLevel: 'warn', build: { outDir: OUT, emptyOutDir: true } });
await pack();

function isStale(): boolean {
  const builtAt = mtime(join(OUT, 'index.html'));
  const sources = readdirSync(join(CONSOLE, 'src'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !/\.(gen|test)\.ts$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name));
  const others = ['index.html', 'vite.config.ts', 'package.json'].map((name) => join(CONSOLE, name));
  return [...sources, ...others, DESCRIPTION, import.meta.filename].some((file) => mtime(file) > builtAt);
}

function mtime(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}

/** The console knows the interface by its description alone. */
async function writeTypes(): Promise<void> {
  const { default: openapiTS, astToString } = await import('openapi-typescript');
  const text = astToString(await openapiTS(new URL(`file://${DESCRIPTION}`), { defaultNonNullable: false }));
  await writeFile(join(CONSOLE, 'src/api/types.gen.ts'), text);
}

async function pack(): Promise<void> {
  const assets = join(OUT, 'assets');
  const packed = new Map<string, number>();
  for (const name of readdirSync(assets)) {
    if (!/\.(js|css|svg)$/.test(name)) continue;
    const body = await readFile(join(assets, name));
    const params = { [constants.BROTLI_PARAM_QUALITY]: 9, [constants.BROTLI_PARAM_SIZE_HINT]: body.length };
    await writeFile(join(assets, `${name}.br`), brotliCompressSync(body, { params }));
    const gzipped = gzipSync(body);
    await writeFile(join(assets, `${name}.gz`), gzipped);
    packed.set(name, gzipped.length);
  }
  const html = await readFile(join(OUT, 'index.html'), 'utf8');
  const first = [...packed].filter(([name]) => name.endsWith('.js') && html.includes(name));
  const kib = first.reduce((sum, [, size]) => sum + size, 0) / 1024;
  console.log(`setup: the console's first page loads ${kib.toFixed(0)} KiB of script`);
  if (kib > FIRST_LOAD_BUDGET_KIB) throw new Error(`its budget is ${FIRST_LOAD_BUDGET_KIB} KiB`);
}
