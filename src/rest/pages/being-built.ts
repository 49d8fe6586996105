import type { FastifyReply } from 'fastify';
import { PAGE_POLICY } from './page-policy.ts';

const RELOAD_SECONDS = 2;

/**
 * Answers for a page that is not there yet: in a checkout, `npm start` builds the console and the documentation while the
 * server runs. The page reloads itself. `what` begins a sentence; `command` builds it, and says why it cannot.
 */
export function sendBeingBuilt(reply: FastifyReply, what: string, command: string): FastifyReply {
  return reply
    .status(503)
    .headers({
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': PAGE_POLICY,
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-store',
      'retry-after': String(RELOAD_SECONDS),
    })
    .send(`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="refresh" content="${RELOAD_SECONDS}">
<title>Podyard</title>
</head>
<body>
<p>${what} is being built, which takes some seconds after the first <code>npm start</code>. This page reloads itself.</p>
<p>If nothing else appears within a minute, run <code>${command}</code>: it builds it, or says why it cannot.</p>
</body>
</html>
`);
}
