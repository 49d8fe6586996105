import { readFile, writeFile } from 'node:fs/promises';
import { silentLogger } from '../src/core/logger.ts';
import { REST_REVISIONS, type RestRevision } from '../src/core/rest-revisions.ts';
import { unlimited } from '../src/http/rate-limiter.ts';
import { buildRestApp } from '../src/rest/app.ts';
import type { RestApp, RestDeps } from '../src/rest/shared/rest-app.ts';
import { buildV1App } from '../src/rest/v1/app.ts';

/**
 * Writes the OpenAPI descriptions that the REST apps generate: `api/openapi.json`, one for each later revision, and one for REST v1. With
 * `--check` it writes nothing and fails when a file is out of date.
 */
const FILES: Record<RestRevision, string> = {
  '2026-07': 'api/openapi.json',
  '2026-08': 'api/openapi-2026-08.json',
};

const DEPS: RestDeps = {
  // The description depends on the routes alone: nothing here is used.
  pool: undefined as never,
  keyRing: undefined as never,
  bus: { publish: () => {}, subscribe: () => () => {} },
  rateLimiter: unlimited,
  secretBox: undefined as never,
  capacity: undefined as never,
  podFigures: undefined as never,
  facts: undefined as never,
  metrics: undefined as never,
  metricsPage: undefined as never,
  readiness: undefined as never,
  logger: silentLogger,
  clock: { now: () => 0 },
  publicUrlFor: () => 'http://127.0.0.1:8080',
  lbHost: null,
};

for (const revision of REST_REVISIONS) await write(FILES[revision], buildRestApp(DEPS, { revision, isWhole: true }));
await write('api/openapi-v1.json', buildV1App(DEPS));

async function write(name: string, app: RestApp): Promise<void> {
  await app.ready();
  const text = `${JSON.stringify(app.swagger(), null, 2)}\n`;
  await app.close();
  const file = new URL(`../${name}`, import.meta.url);
  if (!process.argv.includes('--check')) {
    await writeFile(file, text);
  } else if ((await readFile(file, 'utf8').catch(() => '')) !== text) {
    console.error(`${name} is not up to date: run \`node scripts/write-openapi.ts\` and commit what it writes.`);
    process.exitCode = 1;
  }
}
