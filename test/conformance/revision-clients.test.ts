import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { REST_REVISIONS, type RestRevision } from '../../src/core/rest-revisions.ts';
import { QueuePlaneFixture } from '../queue-plane.ts';

/** docs/interface/revision-2026-08.md, "Choosing the revision": clients that know only a base URL, and generated ones. */
let plane: QueuePlaneFixture;
beforeAll(async () => {
  plane = await QueuePlaneFixture.start();
});
afterAll(() => plane.close());

const KEY = 'pyk_test-admin';
const ROOT = new URL('../..', import.meta.url).pathname;
const FILES: Record<RestRevision, string> = { '2026-07': 'openapi.json', '2026-08': 'openapi-2026-08.json' };

async function send(method: string, url: string, body?: object) {
  const headers = { authorization: `Bearer ${KEY}`, ...(body && { 'content-type': 'application/json' }) };
  const response = await fetch(url, { method, headers, ...(body && { body: JSON.stringify(body) }) });
  // biome-ignore lint/suspicious/noExplicitAny: any JSON that the server sends
  return { status: response.status, body: (await response.json()) as any };
}

const NEW_ENDPOINT = {
  name: 'e',
  image: 'any:v1',
  type: 'QUEUE',
  gpu: { pools: ['ADA_24'] },
  scaling: { type: 'QUEUE_DELAY', queueDelay: 4 },
  workers: { min: 1, max: 1 },
};

test('a client with the base URL of a revision manages endpoints and runs jobs by the URLs it is given', async () => {
  const base = `${plane.url}/2026-08/v2`;
  const endpoint = (await send('POST', `${base}/serverless`, NEW_ENDPOINT)).body;
  const { requestUrls: urls } = endpoint;
  for (const url of Object.values<string>(urls)) expect(url.startsWith(`${base}/${endpoint.id}/`)).toBe(true);
  const worker = await plane.worker(endpoint.id);
  const submitted = await send('POST', urls.run, { input: { n: 1 } });
  expect(submitted.status).toBe(200);
  const { body: job } = await worker.take();
  expect(job.input).toEqual({ n: 1 });
  await worker.done(job.id, '{"output":{"n":2}}');
  const at = (template: string) => template.replace('{job_id}', job.id);
  expect((await send('GET', at(urls.status))).body).toMatchObject({ status: 'COMPLETED', output: { n: 2 } });
  expect((await send('GET', urls.health)).body.jobs).toMatchObject({ completed: 1 });
  expect((await send('POST', urls.purgeQueue)).body).toMatchObject({ removed: 0 });
  expect((await send('GET', at(urls.stream))).status).toBe(200);
  expect([(await send('POST', at(urls.retry))).status, (await send('POST', at(urls.cancel))).status]).toEqual([
    400, 200,
  ]);
  const graphql = await send('POST', `${plane.url}/2026-08/graphql`, { query: '{ myself { id } }' });
  expect(graphql.body.data.myself.id).toBe(plane.userId);
});

test('a job sent to a revision that does not exist is a 404 that names the ones there are', async () => {
  const answer = await send('POST', `${plane.url}/2025-01/v2/e1/run`, { input: 1 });
  expect(answer.status).toBe(404);
  expect(answer.body.detail).toContain("no revision '2025-01' of the API, only '2026-07' and '2026-08'");
});

/** Settings that only a revision's own types accept. */
const SCALING = {
  '2026-07': "type: 'QUEUE_BASED', scaling: { type: 'QUEUE_DELAY', value: 2, idleTimeout: 7 }",
  '2026-08': "type: 'QUEUE', scaling: { type: 'QUEUE_DELAY', queueDelay: 2 }, workers: { idleTimeout: 7 }",
};
const CHANGE = {
  '2026-07': "scaling: { type: 'REQUEST_COUNT', value: 3 }",
  '2026-08': "scaling: { type: 'REQUEST_COUNT', requestCount: 3 }",
};
const SHOWN = {
  '2026-07': 'changed.scaling.value',
  '2026-08': "'requestCount' in changed.scaling && changed.scaling.requestCount",
};

/** A program against the generated types; tsc and node both take it. */
const roundTrip = (revision: RestRevision) => `
import createClient from 'openapi-fetch';
import type { paths } from './types-${revision}.ts';

const client = createClient<paths>({
  baseUrl: '${plane.url}/${revision}',
  headers: { authorization: 'Bearer ${KEY}' },
});
function ok<T>({ data, error }: { data?: T; error?: unknown }): T {
  if (error !== undefined) throw new Error(JSON.stringify(error));
  return data as T;
}
const made = ok(await client.POST('/v2/serverless', {
  body: { name: 'g', image: 'any:v1', gpu: { pools: ['ADA_24'] }, ${SCALING[revision]} },
}));
const params = { path: { id: made.id } };
const changed = ok(await client.PATCH('/v2/serverless/{id}', { params, body: { name: 'h', ${CHANGE[revision]} } }));
const read = ok(await client.GET('/v2/serverless/{id}', { params }));
const { endpoints } = ok(await client.GET('/v2/serverless'));
ok(await client.DELETE('/v2/serverless/{id}', { params }));
const gone = await client.GET('/v2/serverless/{id}', { params });
console.log(JSON.stringify({
  value: ${SHOWN[revision]},
  name: read.name,
  isListed: endpoints.some(({ id }: { id: string }) => id === made.id),
  gone: gone.response.status,
}));
`;

test('clients generated from either description compile, and make a round trip', async () => {
  mkdirSync(join(ROOT, 'dist'), { recursive: true });
  const directory = mkdtempSync(join(ROOT, 'dist/clients-')); // below the root: they import packages
  try {
    const library = createRequire(join(ROOT, 'console/package.json')).resolve('openapi-typescript');
    const { default: openapiTS, astToString } = await import(pathToFileURL(library.replace(/\.cjs$/, '.mjs')).href);
    await writeFile(join(directory, 'package.json'), '{"type":"module"}');
    for (const revision of REST_REVISIONS) {
      const types = await openapiTS(pathToFileURL(join(ROOT, 'api', FILES[revision])), { defaultNonNullable: false });
      await writeFile(join(directory, `types-${revision}.ts`), astToString(types));
      await writeFile(join(directory, `client-${revision}.ts`), roundTrip(revision));
    }
    const programs = REST_REVISIONS.map((revision) => join(directory, `client-${revision}.ts`));
    const flags = ['--strict', '--noEmit', '--skipLibCheck', '--allowImportingTsExtensions', '--ignoreConfig'];
    const options = ['--module', 'nodenext', '--target', 'es2024', '--types', 'node'];
    const run = promisify(execFile);
    await run(join(ROOT, 'node_modules/.bin/tsc'), [...flags, ...options, ...programs], { cwd: ROOT }).catch(
      (error) => {
        throw new Error(`it does not compile:\n${error.stdout}`);
      },
    );
    for (const program of programs) {
      const { stdout } = await run(process.execPath, [program]);
      expect(JSON.parse(stdout)).toEqual({ value: 3, name: 'h', isListed: true, gone: 404 });
    }
  } finally {
    rmSync(directory, { recursive: true });
  }
});
