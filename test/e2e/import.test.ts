import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../database.ts';
import { Api } from './api.ts';
import { run } from './podyard-command.ts';
import { ServerProcess } from './server-process.ts';

/** docs/guide/from-runpod.md, and docs/interface/rest-v1.md, "Switching it on": two real servers. */

let databases: TestDatabase[] = [];
let there: ServerProcess;
let here: ServerProcess;
let folder: string;
beforeAll(async () => {
  databases = await Promise.all([createTestDatabase(), createTestDatabase()]);
  [there, here] = await Promise.all([
    ServerProcess.start({ runtime: 'process', databaseUrl: databases[0]!.url }),
    ServerProcess.start({ runtime: 'process', databaseUrl: databases[1]!.url, env: { PODYARD_REST_V1: 'true' } }),
  ]);
  folder = await mkdtemp(join(tmpdir(), 'podyard-import-'));
});
afterAll(async () => {
  await Promise.all([there?.dispose(), here?.dispose()]);
  for (const database of databases) await database.drop();
  await rm(folder, { recursive: true, force: true });
});

test('an imported endpoint runs jobs here, with the secret that was given here; REST v1 shows it', async () => {
  const source = new Api(there);
  const target = new Api(here);
  await source.call('POST', '/v2/account/secrets', { name: 'token', value: 'of the other side' });
  for (const [revision, name] of [
    ['2026-07', 'older'],
    ['2026-08', 'newer'],
  ]) {
    const env = { TOKEN: '{{ RUNPOD_SECRET_token }}' };
    const body = { name, image: 'podyard/echo-js:dev', gpu: { pools: ['ADA_24'] }, env };
    await source.call('POST', '/2026-07/v2/serverless', body);
    const secrets = join(folder, 'values.json');
    await writeFile(secrets, JSON.stringify({ secrets: { token: 'typed here' } }), { mode: 0o600 });
    const text = await run(['import', '--from', `${there.url}/${revision}`, '--secrets', secrets, '--yes'], {
      PODYARD_URL: here.url,
      PODYARD_API_KEY: here.key,
      PODYARD_IMPORT_KEY: there.key,
    });
    expect(text).toMatch(new RegExp(`^endpoint\\s+${name}\\s+created`, 'm'));
    expect(text).not.toContain('typed here');
    const { endpoints } = await target.call<{ endpoints: { id: string; name: string }[] }>('GET', '/v2/serverless');
    const made = endpoints.find((endpoint) => endpoint.name === name)!;
    const { output } = await target.runToEnd(made.id, { env: 'TOKEN' });
    expect((output as { env: string }).env).toBe('typed here');
    const v1 = await fetch(`${here.url}/v1/endpoints/${made.id}`, { headers: { authorization: `Bearer ${here.key}` } });
    expect(await v1.json()).toMatchObject({ id: made.id, name });
  }
});

test('without --rest-v1, its paths are a 404 that names the flag; the page of the API says so, too', async () => {
  const off = await fetch(`${there.url}/v1/pods`);
  expect([off.status, await off.json()]).toEqual([
    404,
    expect.objectContaining({ error: expect.stringContaining('--rest-v1') }),
  ]);
  expect(await (await fetch(`${there.url}/docs/api-v1`)).text()).toContain('Only a server with <code>--rest-v1</code>');
  expect((await fetch(`${here.url}/v1/openapi.json`)).status).toBe(200);
});
