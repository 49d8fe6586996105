import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { Failure } from '../../core/errors.ts';

/** Where `console/build.ts` puts it: the same place for the sources and for the published package. */
const FOLDER = fileURLToPath(new URL('../../../dist/console/', import.meta.url));
export const CONSOLE_ASSETS = `${FOLDER}assets/`;

/**
 * Nothing but the console's own files runs; styles that its components make carry the nonce of the answer. It talks to
 * this server only, and cannot be framed.
 */
export function consolePage(html: string): { html: string; policy: string } {
  const nonce = randomBytes(16).toString('base64');
  const policy = [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    "img-src 'self' data:",
    "font-src 'self'",
    "connect-src 'self' ws: wss:",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
  return { html: html.replace('__NONCE__', nonce), policy };
}

/** The page as it was built. Throws a sentence that says what to do when it was not. */
export async function readConsolePage(): Promise<string> {
  return await readFile(`${FOLDER}index.html`, 'utf8').catch((cause: unknown) => {
    throw new Failure('notFound', 'The console is not built: run `npm run build:console`.', { cause });
  });
}
