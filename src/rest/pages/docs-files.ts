import { readdir, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { Failure, notFound } from '../../core/errors.ts';

/** Where `scripts/build-docs.ts` puts it: the same place for the sources and for the published package. */
const FOLDER = fileURLToPath(new URL('../../../dist/docs/', import.meta.url));
export const DOCS_ASSETS = `${FOLDER}assets/`;

/** The page with that address, the first one by default. Throws `notFound`, with what to do when nothing was built. */
export async function readDocsPage(name = 'index'): Promise<string> {
  const names = await readdir(FOLDER).catch((cause: unknown) => {
    throw new Failure('notFound', 'The documentation is not built: run `npm run build:docs`.', { cause });
  });
  if (!names.includes(`${name}.html`)) throw notFound('Page');
  return readFile(`${FOLDER}${name}.html`, 'utf8');
}
