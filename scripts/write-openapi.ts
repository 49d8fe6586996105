import { readFile, writeFile } from 'node:fs/promises';
import { silentLogger } from '../src/core/logger.ts';
import { unlimited } from '../src/http/rate-limiter.ts';
import { buildRestApp } from '../src/rest/app.ts';

/**
 * Writes the REST interface's description, as the app itself makes it, to api/openapi.json. With `--check` it writes
 * nothing and fails when the file is not what it would write.
 */
const FILE = new URL('../api/openapi.json', import.meta.url);

const app = buildRestApp({
  // The description is made of the routes alone: none of these is used.
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
