/** Loaded into a server before its own code: counts its HTTP requests by what they ask for, in the file that the environment names. */
import { subscribe } from 'node:diagnostics_channel';
import { renameSync, writeFileSync } from 'node:fs';
import type { ClientRequest, IncomingMessage } from 'node:http';

const FILE = process.env.BENCH_REQUESTS!;
const WRITE_MS = 250;
const counts: Record<string, number> = {};
let isWritten = false;

/** Of an API server's path: the resource, and what of it. */
function subjectOf(path: string): string {
  const [route = '', query = ''] = path.split('?');
  const [, resource = '', name, subresource] =
    /\/v1(?:\/namespaces\/[^/]+)?\/([^/]+)(?:\/([^/]+))?(?:\/(.+))?$/.exec(route) ?? [];
  if (query.includes('watch=')) return `watch ${resource}`;
  return [resource, name && 'one', subresource].filter(Boolean).join(' ');
}

subscribe('http.client.response.finish', (message) => {
  const { request, response } = message as { request: ClientRequest; response: IncomingMessage };
  const refused = response.statusCode! >= 400 ? ` → ${response.statusCode}` : '';
  const name = `${request.method} ${subjectOf(request.path)}${refused}`;
  counts[name] = (counts[name] ?? 0) + 1;
  isWritten = false;
});

setInterval(() => {
  if (isWritten) return;
  isWritten = true;
  writeFileSync(`${FILE}.new`, JSON.stringify(counts));
  renameSync(`${FILE}.new`, FILE);
}, WRITE_MS).unref();
