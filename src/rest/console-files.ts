import { randomBytes } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { Failure } from '../core/errors.ts';

/** Where `console/build.ts` puts it: the same place for the sources and for the published package. */
const FOLDER = fileURLToPath(new URL('../../dist/console/', import.meta.url));
const CONTENT_TYPES: Record<string, string> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
  woff2: 'font/woff2',
};

export interface ConsoleAsset {
  contentType: string;
  body: Buffer;
  /** Packed forms by their content encoding. */
  packed: { br?: Buffer; gzip?: Buffer };
}

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

/** One file of the build, whose name carries the hash of its content; undefined for any other name. */
export async function readConsoleAsset(name: string): Promise<ConsoleAsset | undefined> {
  const contentType = CONTENT_TYPES[name.slice(name.lastIndexOf('.') + 1)];
  if (contentType === undefined || !(await assetNames()).has(name)) return undefined;
  const read = (suffix: string) => readFile(`${FOLDER}assets/${name}${suffix}`);
  const [body, br, gzip] = await Promise.all([
    read(''),
    read('.br').catch(() => undefined),
    read('.gz').catch(() => undefined),
  ]);
  return { contentType, body, packed: { ...(br && { br }), ...(gzip && { gzip }) } };
}

/** Only what is in the folder can be asked for, whatever a name spells. */
async function assetNames(): Promise<Set<string>> {
  return new Set(await readdir(`${FOLDER}assets`).catch(() => []));
}
