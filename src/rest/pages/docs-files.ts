import { readdir, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { Failure, notFound } from '../../core/errors.ts';

/** Where `scripts/build-docs.ts` puts it, in the source tree and in the published package alike. */
const FOLDER = fileURLToPath(new URL('../../../dist/docs/', import.meta.url));
export const DOCS_ASSETS = `${FOLDER}assets/`;

/** Reads a page, by default the first one. Throws `notFound`, with the remedy if nothing was built. */
export async function readDocsPage(name = 'index'): Promise<string> {
  const names = await readdir(FOLDER).catch((cause: unknown) => {
    throw new Failure('notFound', 'The documentation is not built: run `npm run build:docs`.', { cause });
  });
  if (!names.includes(`${name}.html`)) throw notFound('Page');
  return readFile(`${FOLDER}${name}.html`, 'utf8');
}
