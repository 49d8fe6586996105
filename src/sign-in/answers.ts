import type { IncomingMessage, ServerResponse } from 'node:http';
import { Failure } from '../core/errors.ts';
import { asciiJson } from '../core/text/ascii-json.ts';
import { PROBLEM_JSON, renderProblem } from '../http/problem.ts';

const COMMON = { 'cache-control': 'no-store', 'referrer-policy': 'no-referrer', 'x-content-type-options': 'nosniff' };
const STYLE =
  'body{font:16px/1.5 system-ui,sans-serif;max-width:34rem;margin:12vh auto;padding:0 1rem;color:#1a1b1e;background:#fff}' +
  'a{color:#1864ab}@media(prefers-color-scheme:dark){body{color:#e9ecef;background:#1a1b1e}a{color:#74c0fc}}';
const PAGE_POLICY =
  "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** The cookies that an answer sets. */
type Cookies = string[];

export function sendJson(res: ServerResponse, status: number, body: object, cookies: Cookies = []): void {
  res.writeHead(status, { ...COMMON, 'content-type': 'application/json', 'set-cookie': cookies }).end(asciiJson(body));
}

export function redirect(res: ServerResponse, url: string, cookies: Cookies = []): void {
  res.writeHead(302, { ...COMMON, location: url, 'set-cookie': cookies }).end();
}

/** Sends a failure to a script. */
export function sendFailure(res: ServerResponse, failure: Failure): void {
  const { status, headers, problem } = renderProblem(failure);
  const more = Object.fromEntries(headers.flatMap((name, i) => (i % 2 === 0 ? [[name, headers[i + 1] ?? '']] : [])));
  res.writeHead(status, { ...COMMON, ...more, 'content-type': PROBLEM_JSON }).end(asciiJson(problem));
}

/** Sends a failure as a page that says what happened, with a link back to the console. */
export function sendFailurePage(res: ServerResponse, failure: Failure, base: string, cookies: Cookies = []): void {
  const { status, problem } = renderProblem(failure);
  res
    .writeHead(status, {
      ...COMMON,
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': PAGE_POLICY,
      'set-cookie': cookies,
    })
    .end(`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Sign in to Podyard</title>
<style>${STYLE}</style>
</head>
<body>
<main>
<h1>You are not signed in</h1>
<p>${escapeHtml(problem.detail)}</p>
<p><a href="${escapeHtml(base)}/">Try again</a></p>
</main>
</body>
</html>
`);
}

function escapeHtml(text: string): string {
  const names: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
  return text.replace(/[&<>"]/g, (character) => names[character]!);
}

const MAX_BODY_BYTES = 64 * 1024;

/** Reads a form. Throws `contentTooLarge` above 64 KiB. */
export async function readForm(req: IncomingMessage): Promise<URLSearchParams> {
  return new URLSearchParams(await readText(req));
}

/** Reads a body. Throws `contentTooLarge` above 64 KiB. */
export async function readText(req: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of req as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > MAX_BODY_BYTES) throw new Failure('contentTooLarge', 'the request body is larger than 64 KiB');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
