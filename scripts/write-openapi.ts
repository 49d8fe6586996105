import { readFile, writeFile } from 'node:fs/promises';
import swagger from '@fastify/swagger';
import { NO_WORKLOAD_OPTIONS } from '../src/config/workload-option-settings.ts';
import { silentLogger } from '../src/core/logger.ts';
import { REST_REVISIONS } from '../src/core/rest-revisions.ts';
import { unlimited } from '../src/http/rate-limiter.ts';
import { buildRestApp, OPENAPI_FILES } from '../src/rest/app.ts';
import { describeApi, examplesOf } from '../src/rest/openapi.ts';
import type { RestApp, RestDeps } from '../src/rest/shared/rest-app.ts';
import { buildV1App } from '../src/rest/v1/app.ts';
import { V1_OPENAPI } from '../src/rest/v1/v1-openapi.ts';
import { WIRES } from '../src/rest/wires.ts';

/**
 * Writes the OpenAPI descriptions that servers answer with: `api/openapi.json`, one for each later revision, and one for REST v1, from the
 * routes themselves. With `--check` it writes nothing and fails when a file is out of date.
 */

const DEPS: RestDeps = {
  // The description depends on the routes alone: nothing here is used.
  pool: undefined as never,
  keyRing: undefined as never,
  bus: { publish: () => {}, subscribe: () => () => {} },
  rateLimiter: unlimited,
  answers: undefined as never,
  logSearches: undefined as never,
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
  terminal: null,
  webhooks: undefined as never,
  workloadOptions: NO_WORKLOAD_OPTIONS,
};

for (const revision of REST_REVISIONS) {
  const describe = (app: RestApp) => void app.register(swagger, describeApi(revision, examplesOf(WIRES[revision])));
  await write(OPENAPI_FILES[revision], buildRestApp(DEPS, { revision, isWhole: true, describe }));
}
await write(
  'openapi-v1.json',
  buildV1App(DEPS, (app) => void app.register(swagger, V1_OPENAPI)),
);

async function write(name: string, app: RestApp): Promise<void> {
  await app.ready();
  const text = `${JSON.stringify(app.swagger(), null, 2)}\n`;
  await app.close();
  const file = new URL(`../api/${name}`, import.meta.url);
  if (!process.argv.includes('--check')) {
    await writeFile(file, text);
  } else if ((await readFile(file, 'utf8').catch(() => '')) !== text) {
    console.error(`api/${name} is not up to date: run \`node scripts/write-openapi.ts\` and commit what it writes.`);
    process.exitCode = 1;
  }
}
