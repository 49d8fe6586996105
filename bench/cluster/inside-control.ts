/**
 * Preloaded into a server. On SIGUSR2 it writes how many HTTP requests were answered so far, by kind, to the file named by
 * BENCH_REQUESTS; and, if BENCH_PROFILES names a directory, a CPU profile since the previous signal.
 */
import { subscribe } from 'node:diagnostics_channel';
import { renameSync, writeFileSync } from 'node:fs';
import type { ClientRequest, IncomingMessage } from 'node:http';
import { Session } from 'node:inspector';
import { join } from 'node:path';

const { BENCH_REQUESTS: file = '', BENCH_PROFILES: profiles } = process.env;
const counts: Record<string, number> = {};
const session = new Session();
let signals = 0;

/** Summarizes an API server path: the resource, and which part of it. */
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
});

process.on('SIGUSR2', () => {
  signals += 1;
  writeFileSync(`${file}.new`, JSON.stringify(counts));
  renameSync(`${file}.new`, file);
  if (profiles === undefined) return;
  const name = join(profiles, `control-${signals - 1}.cpuprofile`);
  session.post('Profiler.stop', (error, result) => {
    if (!error) writeFileSync(name, JSON.stringify(result.profile));
    session.post('Profiler.start');
  });
});

if (profiles !== undefined) {
  session.connect();
  session.post('Profiler.enable');
}
