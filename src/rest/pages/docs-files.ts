import { readdir, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { notFound } from '../../core/errors.ts';

/** Where `scripts/build-docs.ts` puts it, in the source tree and in the published package alike. */
const FOLDER = fileURLToPath(new URL('../../../dist/docs/', import.meta.url));
export const DOCS_ASSETS = `${FOLDER}assets/`;

/** Reads a page, by default the first one. `null` if nothing is built; throws `notFound` if there is no such page. */
export async function readDocsPage(name = 'index'): Promise<string | null> {
  const names = await readdir(FOLDER).catch(() => null);
  if (names === null) return null;
  if (!names.includes(`${name}.html`)) throw notFound('Page');
  return readFile(`${FOLDER}${name}.html`, 'utf8');
}
