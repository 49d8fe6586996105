import { readFile, writeFile } from 'node:fs/promises';
import { silentLogger } from '../src/core/logger.ts';
import { unlimited } from '../src/http/rate-limiter.ts';
import { buildRestApp } from '../src/rest/app.ts';

/**
 * Writes the OpenAPI description that the REST app generates to api/openapi.json. With `--check` it writes nothing and
 * fails when the file is out of date.
 */
const FILE = new URL('../api/openapi.json', import.meta.url);

const app = buildRestApp({
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
});
await app.ready();
const text = `${JSON.stringify(app.swagger(), null, 2)}\n`;
await app.close();

if (!process.argv.includes('--check')) {
  await writeFile(FILE, text);
} else if ((await readFile(FILE, 'utf8').catch(() => '')) !== text) {
  console.error('api/openapi.json is not up to date: run `node scripts/write-openapi.ts` and commit what it writes.');
  process.exitCode = 1;
}
