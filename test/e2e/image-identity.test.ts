/** A folder is edited while an endpoint runs it: a release goes on with what it was, until an update names the image again. */
import { copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../database.ts';
import { Api, until } from './api.ts';
import { run } from './podyard-command.ts';
import { ServerProcess } from './server-process.ts';

const KIT = new URL('../../workers/javascript/podyard-worker.js', import.meta.url).pathname;

let database: TestDatabase;
let server: ServerProcess;
let api: Api;
let home: string;
const edit = (text: string) =>
  writeFile(
    join(home, 'code', 'main.mjs'),
    `import { start } from './podyard-worker.mjs';
import { TEXT } from './lib/text.mjs';
await start({ handler: () => ({ text: TEXT + '${text}', refresh_worker: true }) });\n`,
  );

beforeAll(async () => {
  database = await createTestDatabase();
  home = await mkdtemp(join(tmpdir(), 'podyard-identity-'));
  await mkdir(join(home, 'code', 'lib'), { recursive: true });
  await copyFile(KIT, join(home, 'code', 'podyard-worker.mjs'));
  await writeFile(join(home, 'code', 'lib', 'text.mjs'), "export const TEXT = 'the ';\n");
  const image = { command: ['node', 'main.mjs'], directory: 'code' };
  await writeFile(join(home, 'images.json'), JSON.stringify({ 'ml:1': image }));
  const env = { PODYARD_IMAGES_FILES: join(home, 'images.json') };
  server = await ServerProcess.start({ runtime: 'process', databaseUrl: database.url, env });
  api = new Api(server);
});
afterAll(async () => {
  await server?.dispose();
  await database?.drop();
  await rm(home, { recursive: true, force: true });
});

test('an edited folder is another image: a release runs what it began with, also after a restart, and a roll-back brings it back', async () => {
  await edit('first');
  const id = await api.createEndpoint({ name: 'ml', image: 'ml:1', workers: { min: 1, max: 1 } });
  const env = { PODYARD_URL: server.url, PODYARD_API_KEY: server.key };
  const command = (...words: string[]) => run(words, env);
  const answer = async () => (await api.runToEnd(id, {})).output;
  const images = async () =>
    (await api.call<{ images: Record<string, unknown>[] }>('GET', `/v2/serverless/${id}/release-images`)).images;
  expect(await answer()).toEqual({ text: 'the first' });

  await edit('second');
  await writeFile(join(home, 'code', 'lib', 'text.mjs'), "export const TEXT = 'a ';\n");
  for (const _ of [1, 2]) expect(await answer()).toEqual({ text: 'the first' }); // each by a worker of its own
  await server.kill();
  await server.start();
  expect(await answer()).toEqual({ text: 'the first' });

  const updated = await command('endpoints', 'update', 'ml', '--image', 'ml:1', '--wait');
  expect(updated).toMatch(/Release 2: ml:1 names sha256:[0-9a-f]{12}, before sha256:[0-9a-f]{12}\./);
  expect(await answer()).toEqual({ text: 'a second' });
  expect(await command('endpoints', 'update', 'ml', '--image', 'ml:1')).toContain(
    'Nothing changed: ml:1 names sha256:',
  );
  const [second, first] = await images();
  expect(await images()).toHaveLength(2);
  expect(await command('releases', 'ml')).toContain(String(second!.digest).slice(0, 19));

  await command('rollback', 'ml');
  expect((await images())[0]).toMatchObject({ version: 3, image: 'ml:1', digest: first!.digest, problem: null });
  expect(await answer()).toEqual({ text: 'the first' });

  // Its copy is lost, and the folder is not what it was: old workers go on, and the release says why there are no new ones.
  const copies = join(server.dataDir, 'process', server.installation, '.images');
  await rm(join(copies, String(first!.digest).slice('sha256:'.length)), { recursive: true });
  await api.run(id, {});
  const problem = await until(
    'the release says it',
    async () => ((await images())[0]!.problem as string | null) ?? undefined,
  );
  expect(problem).toContain(`'ml:1' was ${first!.digest} when this release was made`);
  await api.delete(id);
});
