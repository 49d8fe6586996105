/**
 * Builds the documentation site from docs/**.md and the API's descriptions into dist/docs. Pages have no inline scripts or styles and
 * load nothing from other hosts. Fails on a link to a missing page, heading or picture. scripts/build-stale.sh calls it when a source
 * has changed.
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { copyFile, mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { basename, extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { transformSync } from '@swc/core';
import { layOut } from './docs/lay-out.ts';
import { notFoundPage } from './docs/not-found.ts';
import { DOCS, readPages } from './docs/pages.ts';
import { referencePages } from './docs/reference.ts';
import { render } from './docs/render.ts';
import { searchIndexOf } from './docs/search-index.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const OUT = join(ROOT, 'dist/docs');
/** Built here, then renamed to OUT: concurrent readers and builds never see half a site. */
const BUILDING = join(ROOT, `dist/docs.${process.pid}`);

await build().finally(() => rm(BUILDING, { recursive: true, force: true }));

async function build(): Promise<void> {
  for (const folder of ['assets', 'files']) await mkdir(join(BUILDING, folder), { recursive: true });
  const pages = [...readPages(), ...referencePages(), notFoundPage()];
  const twice = pages.find(({ slug }, i) => pages.findIndex((other) => other.slug === slug) !== i);
  if (twice) throw new Error(`two pages have the URL path ${twice.slug}`);
  const assets = new Map<string, Buffer>();
  const add = (file: string, body: Buffer): string => {
    const name = nameOfAsset(file, body);
    assets.set(name, body);
    return `assets/${name}`;
  };
  const addFile = (file: string): string => add(file, readFileSync(file));
  const downloads = new Map<string, string>();
  const download = (file: string): string => {
    const name = basename(file);
    if ((downloads.get(name) ?? file) !== file) throw new Error(`two downloads have the name ${name}`);
    downloads.set(name, file);
    return `files/${name}`;
  };
  for (const page of pages) if (page.file !== '') page.html = render(page, pages, { picture: addFile, download });
  const sections = pages.filter(({ part }) => part !== 'contributors').flatMap((page) => page.sections);
  const shared = {
    style: addFile(join(DOCS, 'site/site.css')),
    script: addFile(join(DOCS, 'site/site.js')),
    reference: addFile(join(DOCS, 'site/reference.js')),
    search: add('search.js', scriptOf(join(ROOT, 'scripts/docs/search.ts'))),
    index: add('search.json', Buffer.from(JSON.stringify(searchIndexOf(sections)))),
  };
  assets.set('podyard-yaml.json', readFileSync(join(ROOT, 'api/podyard-yaml.json')));
  for (const [name, body] of assets) await writeAsset(name, body);
  for (const [name, file] of downloads) await copyFile(file, join(BUILDING, 'files', name));
  for (const page of pages) {
    await writeFile(join(BUILDING, `${page.slug || 'index'}.html`), layOut(page, pages, shared));
  }
  await rm(OUT, { recursive: true, force: true });
  await rename(BUILDING, OUT);
  console.log(`setup: built ${pages.length} pages of documentation`);
}

/** Returns a module for browsers. */
function scriptOf(file: string): Buffer {
  const options = { jsc: { parser: { syntax: 'typescript' }, target: 'es2022' }, minify: true } as const;
  return Buffer.from(transformSync(readFileSync(file, 'utf8'), options).code);
}

function nameOfAsset(file: string, body: Buffer): string {
  const hash = createHash('sha256').update(body).digest('base64url').slice(0, 10);
  return `${basename(file, extname(file))}-${hash}${extname(file)}`;
}

async function writeAsset(name: string, body: Buffer): Promise<void> {
  const file = join(BUILDING, 'assets', name);
  await writeFile(file, body);
  if (name.endsWith('.webp')) return; // compressed already
  await writeFile(`${file}.br`, brotliCompressSync(body));
  await writeFile(`${file}.gz`, gzipSync(body));
}
