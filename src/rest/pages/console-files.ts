import { createHash, randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { OWN_PACKAGE } from '../../core/files/own-package.ts';

/** Where `console/build.ts` puts it, in the source tree and in the published package alike. */
const FOLDER = fileURLToPath(new URL('dist/console/', OWN_PACKAGE));
export const CONSOLE_ASSETS = `${FOLDER}assets/`;

/** Begins the one script that is within the page. */
const SCRIPT = '<script>';

/**
 * Returns the page and its Content-Security-Policy: only the console's own files and the script within the page run,
 * styles created by its components need the nonce, it may connect to this server only, and it cannot be framed.
 */
export function consolePage(html: string): { html: string; policy: string } {
  const nonce = randomBytes(16).toString('base64');
  const scriptAt = html.indexOf(SCRIPT) + SCRIPT.length;
  const script = html.slice(scriptAt, html.indexOf('</script>', scriptAt));
  const policy = [
    "default-src 'none'",
    `script-src 'self' 'sha256-${createHash('sha256').update(script).digest('base64')}'`,
    `style-src 'self' 'nonce-${nonce}'`,
    "img-src 'self' data:",
    "font-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
  return { html: html.replace('__NONCE__', nonce), policy };
}

/** Reads the built page. `null` if it is not built. */
export async function readConsolePage(): Promise<string | null> {
  return await readFile(`${FOLDER}index.html`, 'utf8').catch(() => null);
}
