import { readdir, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { OWN_PACKAGE } from '../../core/files/own-package.ts';

/** Where `scripts/build-docs.ts` puts it, in the source tree and in the published package alike. */
const FOLDER = fileURLToPath(new URL('dist/docs/', OWN_PACKAGE));
export const DOCS_ASSETS = `${FOLDER}assets/`;
/** Files of the repository that pages offer to copy, under their own names. */
export const DOCS_DOWNLOADS = `${FOLDER}files/`;

/** A page, or where the page is that an address means. */
export type FoundPage = { html: string; isMissing: boolean } | { slug: string };

/**
 * Finds the page of an address below `/docs/`. What the repository calls a page (`guide/start.md`, `interface/README.md`), a
 * trailing slash or `.html` lead to it. Any other address has a page that says so and searches for its words. `isNested`: the
 * address has slashes, so that a page's relative links would not work there. `null` if nothing is built.
 */
export async function findDocsPage(address: string, isNested: boolean): Promise<FoundPage | null> {
  const names = await readdir(FOLDER).catch(() => null);
  if (names === null) return null;
  const read = (name: string) => readFile(`${FOLDER}${name}.html`, 'utf8');
  if (!isNested && names.includes(`${address || 'index'}.html`)) {
    return { html: await read(address || 'index'), isMissing: false };
  }
  const slug = slugOf(address);
  if (isNested || (slug !== address && names.includes(`${slug || 'index'}.html`))) return { slug };
  return { html: await read('404'), isMissing: true };
}

/** The rule by which the build names a file's page (scripts/docs/pages.ts). */
function slugOf(address: string): string {
  const file = address.replace(/\/$/, '').replace(/\.(?:md|html)$/, '');
  const name = file.replace(/^(?:docs\/)?(?:guide\/)?/, '').replace(/[/-]README$/, '');
  return name === 'index' ? '' : name.replaceAll('/', '-');
}
