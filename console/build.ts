/**
 * Builds the web console into dist/console, and compresses its scripts and styles with Brotli and gzip. Fails if the
 * scripts of the first load exceed their budget. scripts/build-stale.sh calls it when a source has changed.
 */
import { readdirSync } from 'node:fs';
import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { firstLoadScripts, type Manifest } from './first-load.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const CONSOLE = join(ROOT, 'console');
const OUT = join(ROOT, 'dist/console');
/** Built here, then renamed to OUT: a server never sees half a console, and serves the old one until then. */
const BUILDING = join(ROOT, `dist/console.${process.pid}`);
/** Limit for the scripts of the first load, gzipped. */
const FIRST_LOAD_BUDGET_KIB = 200;
const FIRST_LOAD = ['index.html', 'src/pages/overview/overview.tsx'];

console.log('setup: building the web console (a few seconds)');
process.chdir(CONSOLE);
const { build } = await import('vite');
try {
  await build({ root: CONSOLE, logLevel: 'warn', build: { outDir: BUILDING, emptyOutDir: true, manifest: true } });
  await checkFirstLoad(await compress());
  await rm(OUT, { recursive: true, force: true });
  await rename(BUILDING, OUT);
} finally {
  await rm(BUILDING, { recursive: true, force: true });
}

/** Compresses the scripts and styles. Returns the gzipped size of each, in bytes. */
async function compress(): Promise<Map<string, number>> {
  const assets = join(BUILDING, 'assets');
  const gzippedSizes = new Map<string, number>();
  for (const name of readdirSync(assets)) {
    if (!/\.(js|css|svg)$/.test(name)) continue;
    const body = await readFile(join(assets, name));
    const params = { [constants.BROTLI_PARAM_QUALITY]: 9, [constants.BROTLI_PARAM_SIZE_HINT]: body.length };
    await writeFile(join(assets, `${name}.br`), brotliCompressSync(body, { params }));
    const gzipped = gzipSync(body);
    await writeFile(join(assets, `${name}.gz`), gzipped);
    gzippedSizes.set(`assets/${name}`, gzipped.length);
  }
  return gzippedSizes;
}

/** Throws if the scripts of the first load exceed their budget, and names the largest. */
async function checkFirstLoad(gzippedSizes: Map<string, number>): Promise<void> {
  const manifest = JSON.parse(await readFile(join(BUILDING, '.vite/manifest.json'), 'utf8')) as Manifest;
  await rm(join(BUILDING, '.vite'), { recursive: true });
  const sizes = [...firstLoadScripts(manifest, FIRST_LOAD)].map((file) => ({
    file,
    kib: gzippedSizes.get(file)! / 1024,
  }));
  const kib = sizes.reduce((sum, script) => sum + script.kib, 0);
  console.log(`setup: the console's first load is ${kib.toFixed(0)} KiB of script`);
  if (kib <= FIRST_LOAD_BUDGET_KIB) return;
  const largest = sizes.sort((a, b) => b.kib - a.kib).slice(0, 5);
  const list = largest.map((script) => `${script.file} ${script.kib.toFixed(0)} KiB`).join(', ');
  throw new Error(`the first load exceeds its budget of ${FIRST_LOAD_BUDGET_KIB} KiB. The largest: ${list}`);
}
